#include "fallback/document_filter.hpp"

#include <utility>

namespace holdfast::fallback {

std::optional<told> document_filter::on_text(const std::string& text) {
    if (knows(text)) return std::nullopt;
    unreadable_.clear();
    if (text_ == text) return readable{};
    text_ = text;
    auto is = read_document(text, serial_);
    if (auto* const bad = std::get_if<bad_document>(&is)) return std::move(*bad);
    auto& good = std::get<document>(is);
    if (good.serial) serial_ = good.serial;
    return std::move(good);
}

std::optional<told> document_filter::on_unreadable(const std::string& why) {
    if (std::exchange(unreadable_, why) == why) return std::nullopt;
    return unreadable{why};
}

}  // namespace holdfast::fallback
