// What the node of a latch contains, and the one with the number of permits of a semaphore. Pure.
#pragma once

#include "engine/lock_record.hpp"
#include "zookeeper/wire.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::zookeeper_backend {

// Curator's SharedCount, which reads four bytes, shows the count. What repeated requests need follows it.
[[nodiscard]] std::string to_count_data(const engine::lock_record&);
// Four bytes alone are a count that Curator wrote. Empty: it is no count of this kind, or of another of its
// family.
[[nodiscard]] std::optional<engine::lock_record> parse_count_data(std::string_view, backend::kind of);
// A directory of a lock has no data, and a latch no children.
[[nodiscard]] inline bool may_be_latch(const zookeeper::stat& s) noexcept {
    return s.data_length >= 4 && s.num_children == 0;
}

}  // namespace holdfast::zookeeper_backend
