#include "backends/postgres/errors.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <array>

namespace holdfast::postgres_backend {

namespace {

using effect = sql_backend::fault::effect;

struct meaning {
    std::string_view begins;  // a SQLSTATE, or its class
    effect what;
    errc code;
    const char* text;
};

// The first row that fits counts.
constexpr std::array meanings{
    meaning{"40001", effect::conflict, errc::busy_server, "another transaction came first"},
    meaning{"40P01", effect::conflict, errc::busy_server, "a deadlock with another transaction"},
    meaning{"55P03", effect::conflict, errc::busy_server,
            "another transaction keeps the row of this lock locked"},
    meaning{"57014", effect::none, errc::busy_server,
            "the statement took too long, or somebody cancelled it"},
    meaning{"25006", effect::none, errc::busy_server,
            "the server takes no writes: it is a replica, or read-only"},
    meaning{"53100", effect::none, errc::out_of_memory, "the server's disk is full"},
    meaning{"53200", effect::none, errc::out_of_memory, "the server has no memory left"},
    meaning{"53300", effect::none, errc::unavailable, "the server has no connection left"},
    meaning{"53", effect::none, errc::busy_server, "the server lacks resources"},
    meaning{"57P03", effect::none, errc::unavailable, "the server is starting or stopping"},
    meaning{"57P", effect::unknown, errc::unavailable, "the server ended the connection"},
    meaning{"08", effect::unknown, errc::unavailable, "the connection is broken"},
    meaning{"42501", effect::none, errc::no_permission,
            "this user needs the rights SELECT, INSERT and UPDATE on the table of locks"},
    meaning{"42P01", effect::none, errc::invalid_argument,
            "the table of locks does not exist; ?create=true in the URL makes it, if this user may, or what "
            "holdfast doctor --sql prints"},
    meaning{"42703", effect::none, errc::invalid_argument,
            "the table of locks has other columns than this version of holdfast knows"},
    meaning{"3F000", effect::none, errc::invalid_argument, "the search_path names no schema that exists"},
    meaning{"3D000", effect::none, errc::invalid_argument, "the database does not exist"},
    meaning{"28", effect::none, errc::no_permission, "the server refuses this user"},
    meaning{"22001", effect::none, errc::invalid_argument, "the name is longer than the column of the table"},
    meaning{"22021", effect::none, errc::invalid_argument,
            "the name is no text in the encoding of the database"},
    meaning{"22", effect::none, errc::bad_reply, "the server refuses a value"},
    meaning{"XX", effect::unknown, errc::bad_reply, "the server reports an error of its own"},
};

}  // namespace

sql_backend::fault fault_of(std::string_view sqlstate, std::string_view text, bool changes) {
    std::string shown{text};
    while (!shown.empty() && (shown.back() == '\n' || shown.back() == ' ')) shown.pop_back();
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    shown = base::printable(shown);
    const auto lost = changes ? effect::unknown : effect::none;
    if (sqlstate.empty())
        return {lost, {make_error_code(errc::unavailable), "the connection is broken: " + shown, {}}};
    const auto found = std::find_if(meanings.begin(), meanings.end(),
                                    [&](const auto& m) { return sqlstate.starts_with(m.begins); });
    if (found == meanings.end())
        return {effect::none,
                {make_error_code(errc::bad_reply), "the server reports an error", std::move(shown)}};
    return {found->what == effect::unknown ? lost : found->what,
            {make_error_code(found->code), found->text, std::move(shown)}};
}

}  // namespace holdfast::postgres_backend
