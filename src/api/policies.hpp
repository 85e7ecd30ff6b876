// The policies of config::policies: which one a lock has, and their stores. Checks config::families, too.
#pragma once

#include "session/client_state.hpp"

#include <holdfast/config.hpp>

#include <string_view>
#include <vector>

namespace holdfast::detail {

// All throw errc::invalid_argument for what cannot be.
void check_switch(const config& c);
void check(const std::vector<policy>& all);
void check(const std::vector<lock_family>& all);

// Throws errc::invalid_argument if there is none of this name, and names those there are.
[[nodiscard]] const policy& policy_named(const std::vector<policy>& all, std::string_view name);
// The one whose pattern matches the lock; nullptr: none. Throws errc::invalid_argument if two do.
[[nodiscard]] const policy* policy_matching(const std::vector<policy>& all, std::string_view lock);

// The stores of those that need one of their own, and what reads config::switch_source for them.
[[nodiscard]] session::client_state::opened_policies open_policies(session::client_state& of);

}  // namespace holdfast::detail
