#include "backends/quorum/objections.hpp"

namespace holdfast::quorum_backend {

namespace {

int weight(const std::error_code& c) { return !c ? 0 : c == condition::misuse ? 2 : 1; }

}  // namespace

void objections::add(const std::string& who, const backend::failure& why) {
    if (weight(why.code) > weight(gravest_)) gravest_ = why.code;
    // A connection's own words name its server; those of a server do not.
    const auto said = why.in_one();
    text_.append(text_.empty() ? "" : "; ")
        .append(said.find(who) != std::string::npos ? said : who + ": " + said);
}

}  // namespace holdfast::quorum_backend
