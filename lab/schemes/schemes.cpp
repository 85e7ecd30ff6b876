#include "lab/schemes/schemes.hpp"

#include "lab/schemes/texts.hpp"

#include <algorithm>
#include <array>

namespace holdfast::lab {

namespace {

constexpr std::array schemes{
    known_scheme{"bronze", "SETNX; DEL", text::bronze, make_bronze},
    known_scheme{"silver", "SETNX, PEXPIRE; DEL", text::silver, make_silver},
    known_scheme{"gold", "SET NX PX, the same value for all; DEL", text::gold, make_gold},
    known_scheme{"platinum", "SET NX PX, a value per owner; GET, DEL", text::platinum, make_platinum},
    known_scheme{"diamond", "SET NX PX, a value per owner; compare and delete in Lua", text::diamond,
                 make_diamond},
    known_scheme{"counter", "\"owner:count\", command by command", text::counter, make_counter},
    known_scheme{"counter_lua", "\"owner:count\", in Lua", text::counter_lua, make_counter_lua},
    known_scheme{"redisson", "a hash of owner and count, in Lua; a watchdog", text::redisson, make_redisson},
    known_scheme{"multilock", "SET NX PX on every one of several servers", text::multilock, make_multilock,
                 kept::on_many},
    known_scheme{"redlock", "SET NX PX on more than half, within the TTL", text::redlock, make_redlock,
                 kept::on_many},
    known_scheme{"redlock_unchecked", "SET NX PX on more than half, without a check of the clock",
                 text::redlock, make_redlock_unchecked, kept::on_many},
    known_scheme{"redlock_member", "Redlock on nodes marked as members", text::redlock, make_redlock_member,
                 kept::on_many},
    known_scheme{"redlock_fenced", "Redlock with a fence", text::redlock, make_redlock_fenced, kept::on_many},
    known_scheme{"fallback_local", "SET NX PX; without Redis a lock in the process", text::fallback_local,
                 make_fallback_local},
    known_scheme{"fallback_local_busy", "SET NX PX; a process that is refused takes a lock of its own",
                 text::fallback_local, make_fallback_local_busy},
    known_scheme{"fallback_table", "SET NX PX; without Redis a row in a table", text::fallback_table,
                 make_fallback_table, kept::on_server_or_in_table},
    known_scheme{"fallback_table_flag", "SET NX PX, or a row in a table, as a pushed flag says",
                 text::fallback_table, make_fallback_table_flag, kept::moved_by_a_push},
    known_scheme{"table", "INSERT ... ON CONFLICT DO UPDATE", text::table, make_table, kept::in_table},
    known_scheme{"table_reread", "the upsert of table, then SELECT owner", text::table_reread,
                 make_table_reread, kept::in_table},
    known_scheme{"table_clock", "an upsert by the database's clock, which writes only if it takes the lock",
                 text::table_clock, make_table_clock, kept::in_table},
    known_scheme{"holdfast_mutex", "holdfast::mutex", text::holdfast_mutex, make_holdfast_mutex},
    known_scheme{"holdfast_recursive", "holdfast::recursive_mutex", text::holdfast_recursive,
                 make_holdfast_recursive},
    known_scheme{"holdfast_fenced", "holdfast::mutex, fenced", text::holdfast_fenced, make_holdfast_fenced},
    known_scheme{"holdfast_waiting", "holdfast::recursive_mutex, waiting", text::holdfast_waiting,
                 make_holdfast_waiting},
    known_scheme{"holdfast_replicated", "holdfast::mutex, confirmed by a replica", text::holdfast_replicated,
                 make_holdfast_replicated},
    known_scheme{"holdfast_redlock", "holdfast::mutex on a redlock", text::holdfast_redlock,
                 make_holdfast_redlock, kept::on_many},
    known_scheme{"holdfast_redlock_fenced", "holdfast::mutex on a redlock, fenced", text::holdfast_redlock,
                 make_holdfast_redlock_fenced, kept::on_many},
    known_scheme{"holdfast_joint", "holdfast::mutex on a joint store: Redis, or a database",
                 text::holdfast_joint, make_holdfast_joint, kept::moved_by_an_arbiter},
    known_scheme{"nothing", "no lock: it fails", text::nothing, make_nothing},
};

}  // namespace

std::span<const known_scheme> all_schemes() { return schemes; }

const known_scheme* find_scheme(std::string_view name) {
    const auto found = std::ranges::find(schemes, name, &known_scheme::name);
    return found == schemes.end() ? nullptr : &*found;
}

// A shared file has the name of its first scheme.
std::string_view file_of(const known_scheme& one) {
    return std::ranges::find(schemes, one.source, &known_scheme::source)->name;
}

}  // namespace holdfast::lab
