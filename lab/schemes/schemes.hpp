// All schemes, by name.
#pragma once

#include "lab/base/scheme.hpp"

#include <span>
#include <string_view>

namespace holdfast::lab {

// Where a scheme keeps its lock.
enum class kept {
    on_one_server,
    on_many,                // independent servers
    in_table,               // of a database
    on_server_or_in_table,  // as each process decides
    moved_by_a_push,        // from the server to the table, when a configuration centre pushes that
    moved_by_an_arbiter,  // from the server to a database of holdfast's, by a change that the arbiter records
};

struct known_scheme {
    std::string_view name;
    std::string_view what;    // for people: what it sends
    std::string_view source;  // the text of its file
    std::unique_ptr<scheme> (*make)(performer& by);
    kept where = kept::on_one_server;
};

[[nodiscard]] std::span<const known_scheme> all_schemes();
// nullptr if no scheme has this name.
[[nodiscard]] const known_scheme* find_scheme(std::string_view name);
// The name of its file in lab/schemes, without the extension. Variants of a scheme share a file.
[[nodiscard]] std::string_view file_of(const known_scheme& one);

std::unique_ptr<scheme> make_bronze(performer& by);
std::unique_ptr<scheme> make_silver(performer& by);
std::unique_ptr<scheme> make_gold(performer& by);
std::unique_ptr<scheme> make_platinum(performer& by);
std::unique_ptr<scheme> make_diamond(performer& by);
std::unique_ptr<scheme> make_counter(performer& by);
std::unique_ptr<scheme> make_counter_lua(performer& by);
std::unique_ptr<scheme> make_redisson(performer& by);
std::unique_ptr<scheme> make_multilock(performer& by);
std::unique_ptr<scheme> make_redlock_unchecked(performer& by);
std::unique_ptr<scheme> make_redlock(performer& by);
std::unique_ptr<scheme> make_redlock_member(performer& by);
std::unique_ptr<scheme> make_redlock_fenced(performer& by);
std::unique_ptr<scheme> make_fallback_local(performer& by);
std::unique_ptr<scheme> make_fallback_local_busy(performer& by);
std::unique_ptr<scheme> make_fallback_table(performer& by);
std::unique_ptr<scheme> make_fallback_table_flag(performer& by);
std::unique_ptr<scheme> make_table(performer& by);
std::unique_ptr<scheme> make_table_reread(performer& by);
std::unique_ptr<scheme> make_table_clock(performer& by);
std::unique_ptr<scheme> make_holdfast_mutex(performer& by);
std::unique_ptr<scheme> make_holdfast_recursive(performer& by);
std::unique_ptr<scheme> make_holdfast_fenced(performer& by);
std::unique_ptr<scheme> make_holdfast_waiting(performer& by);
std::unique_ptr<scheme> make_holdfast_replicated(performer& by);
std::unique_ptr<scheme> make_holdfast_redlock(performer& by);
std::unique_ptr<scheme> make_holdfast_redlock_fenced(performer& by);
std::unique_ptr<scheme> make_holdfast_joint(performer& by);
std::unique_ptr<scheme> make_nothing(performer& by);

}  // namespace holdfast::lab
