#include "backends/redlock/member_errors.hpp"

namespace holdfast::redlock_backend {

namespace {

int weight(const std::error_code& c) { return !c ? 0 : c == condition::misuse ? 2 : 1; }

}  // namespace

void member_errors::add(const std::string& who, const backend::failure& why) {
    if (weight(why.code) > weight(worst_)) worst_ = why.code;
    // The text of a connection names the server; the text of a server does not.
    const auto text = why.in_one();
    text_.append(text_.empty() ? "" : "; ")
        .append(text.find(who) != std::string::npos ? text : who + ": " + text);
}

}  // namespace holdfast::redlock_backend
