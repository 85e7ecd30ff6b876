// All that the doctor can find, each with a stable id: what it means for locks, and how to mend it.
#pragma once

#include <holdfast/examination.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::redis_backend::doctor {

struct entry {
    std::string_view id;
    promise falls;  // rests on it
    std::string_view meaning;
    std::string_view mending;
};

[[nodiscard]] std::span<const entry> catalogue() noexcept;

// The findings about one server.
class report {
  public:
    explicit report(std::string subject) : subject_(std::move(subject)) {}

    void ok(std::string_view id, const std::string& found) { add(severity::ok, id, found); }
    void note(std::string_view id, const std::string& found) { add(severity::note, id, found); }
    void warning(std::string_view id, const std::string& found) { add(severity::warning, id, found); }
    void danger(std::string_view id, const std::string& found) { add(severity::danger, id, found); }
    // The check was not possible; `why` is the reason.
    void unknown(std::string_view id, const std::string& why);
    // An empty `mending` stands for that of the catalogue.
    void add(severity, std::string_view id, const std::string& found, std::string mending = {});

    [[nodiscard]] const std::vector<finding>& findings() const& noexcept { return findings_; }
    [[nodiscard]] std::vector<finding> findings() && noexcept { return std::move(findings_); }

  private:
    std::string subject_;
    std::vector<finding> findings_;
};

}  // namespace holdfast::redis_backend::doctor
