#include "lab/schemes/schemes.hpp"

#include "lab/schemes/sources.hpp"

#include <algorithm>
#include <array>

namespace holdfast::lab {

namespace {

constexpr std::array schemes{
    known_scheme{"bronze", "SETNX; DEL", source::bronze, make_bronze},
    known_scheme{"silver", "SETNX, PEXPIRE; DEL", source::silver, make_silver},
    known_scheme{"gold", "SET NX PX, the same value for all; DEL", source::gold, make_gold},
    known_scheme{"platinum", "SET NX PX, a value of one's own; GET, DEL", source::platinum, make_platinum},
    known_scheme{"diamond", "SET NX PX, a value of one's own; compare and delete in Lua", source::diamond,
                 make_diamond},
    known_scheme{"counter", "\"owner:count\", command by command", source::counter, make_counter},
    known_scheme{"counter_lua", "\"owner:count\", in Lua", source::counter_lua, make_counter_lua},
    known_scheme{"redisson", "a hash of owner and count, in Lua; a watchdog", source::redisson,
                 make_redisson},
    known_scheme{"holdfast_mutex", "holdfast::mutex", source::holdfast_mutex, make_holdfast_mutex},
    known_scheme{"holdfast_recursive", "holdfast::recursive_mutex", source::holdfast_recursive,
                 make_holdfast_recursive},
    known_scheme{"holdfast_fenced", "holdfast::mutex, fenced", source::holdfast_fenced, make_holdfast_fenced},
};

}  // namespace

std::span<const known_scheme> all_schemes() { return schemes; }

const known_scheme* find_scheme(std::string_view name) {
    const auto found = std::ranges::find(schemes, name, &known_scheme::name);
    return found == schemes.end() ? nullptr : &*found;
}

}  // namespace holdfast::lab
