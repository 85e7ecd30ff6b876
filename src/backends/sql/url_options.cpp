#include "backends/sql/url_options.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <string>

namespace holdfast::sql_backend {

bool url_options::take(std::string_view name, std::string_view value) {
    if (name == "create") {
        if (value != "true" && value != "false") refuse("the option create is true or false");
        create_ = value == "true";
    } else if (name == "layout") {
        if (value != "holdfast" && value != "shedlock") refuse("the option layout is holdfast or shedlock");
        table_ = value == "shedlock" ? layout::shedlock : layout::holdfast;
    } else if (name == "restarts") {
        if (value != "trusted" && value != "quarantined")
            refuse("the option restarts is trusted or quarantined");
        quarantined_ = value == "quarantined";
    } else if (name == "longest_lease") {
        longest_lease_ = base::parse_duration(value);
        if (!longest_lease_ || longest_lease_->count() <= 0)
            refuse("the option longest_lease is a duration such as 60s");
    } else {
        return false;
    }
    return true;
}

void url_options::check() const {
    if (longest_lease_ && !quarantined_)
        refuse("the option longest_lease belongs to restarts=quarantined, which is not given");
    if (quarantined_ && table_ == layout::shedlock)
        refuse("the option restarts belongs to the table of holdfast, and not to that of ShedLock");
}

std::optional<std::chrono::milliseconds> url_options::longest_lease() const {
    constexpr std::chrono::seconds usual{60};
    if (!quarantined_) return std::nullopt;
    return longest_lease_.value_or(usual);
}

void url_options::refuse(std::string_view why) const {
    throw error(make_error_code(errc::invalid_argument), std::string{store_}.append(": ").append(why));
}

bool is_local(std::string_view host) noexcept {
    return host.empty() || host.starts_with('/') || host.starts_with('@') || host == "localhost" ||
           host.starts_with("127.") || host == "::1";
}

}  // namespace holdfast::sql_backend
