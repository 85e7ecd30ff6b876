// MariaDB's own client library, opened by the first URL that needs it: programs that use other stores do not
// need to have it.
#pragma once

#include <mysql.h>

namespace holdfast::mariadb_backend {

#define HOLDFAST_LIBMARIADB(F)  \
    F(mysql_affected_rows)      \
    F(mysql_close)              \
    F(mysql_errno)              \
    F(mysql_error)              \
    F(mysql_fetch_lengths)      \
    F(mysql_fetch_row)          \
    F(mysql_field_count)        \
    F(mysql_free_result)        \
    F(mysql_get_socket)         \
    F(mysql_get_ssl_cipher)     \
    F(mysql_init)               \
    F(mysql_more_results)       \
    F(mysql_next_result_cont)   \
    F(mysql_next_result_start)  \
    F(mysql_num_fields)         \
    F(mysql_options)            \
    F(mysql_options4)           \
    F(mysql_real_connect_cont)  \
    F(mysql_real_connect_start) \
    F(mysql_real_query_cont)    \
    F(mysql_real_query_start)   \
    F(mysql_server_init)        \
    F(mysql_store_result_cont)  \
    F(mysql_store_result_start)

// Its functions, by their own names.
struct libmariadb {
// NOLINTNEXTLINE(bugprone-macro-parentheses): it is the name of a member
#define HOLDFAST_LIBMARIADB_MEMBER(name) decltype(&::name) name = nullptr;
    HOLDFAST_LIBMARIADB(HOLDFAST_LIBMARIADB_MEMBER)
#undef HOLDFAST_LIBMARIADB_MEMBER
};

// Throws holdfast::error (errc::invalid_argument) if the library is not there. It stays open.
[[nodiscard]] const libmariadb& my();

}  // namespace holdfast::mariadb_backend
