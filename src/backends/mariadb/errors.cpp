#include "backends/mariadb/errors.hpp"

#include "base/text.hpp"

#include <holdfast/error.hpp>

#include <algorithm>
#include <array>
#include <string>

namespace holdfast::mariadb_backend {

namespace {

using effect = sql_backend::fault::effect;

struct meaning {
    unsigned number;
    effect what;
    errc code;
    const char* text;
};

constexpr const char* no_writes = "the server takes no writes: it is a replica, or read-only";
constexpr const char* refuses = "the server refuses this user";
constexpr const char* ended = "the server ended the connection";
constexpr const char* full = "the server's disk is full";

constexpr std::array meanings{
    meaning{1213, effect::conflict, errc::busy_server, "a deadlock with another transaction"},
    meaning{1205, effect::conflict, errc::busy_server,
            "another transaction keeps the row of this lock locked"},
    meaning{1020, effect::conflict, errc::busy_server, "another transaction came first"},
    meaning{1062, effect::conflict, errc::busy_server, "another transaction came first"},
    // It may end a commit that waits for a replica.
    meaning{1969, effect::unknown, errc::busy_server, "the statement took too long"},
    meaning{1317, effect::unknown, errc::busy_server, "somebody cancelled the statement"},
    meaning{3024, effect::unknown, errc::busy_server, "the statement took too long"},
    meaning{1290, effect::none, errc::busy_server, no_writes},
    meaning{1792, effect::none, errc::busy_server, no_writes},
    meaning{1836, effect::none, errc::busy_server, no_writes},
    meaning{1047, effect::none, errc::busy_server, "this node of the cluster has no quorum"},
    meaning{1021, effect::none, errc::out_of_memory, full},
    meaning{1114, effect::none, errc::out_of_memory, full},
    meaning{1026, effect::none, errc::out_of_memory, full},
    meaning{1037, effect::none, errc::out_of_memory, "the server has no memory left"},
    meaning{1041, effect::none, errc::out_of_memory, "the server has no memory left"},
    meaning{1040, effect::none, errc::unavailable, "the server has no connection left"},
    meaning{1203, effect::none, errc::unavailable, "the server has no connection left for this user"},
    meaning{1226, effect::none, errc::unavailable, "this user has used up what it may have of the server"},
    meaning{1180, effect::unknown, errc::busy_server, "the server could not commit"},
    meaning{1053, effect::unknown, errc::unavailable, "the server is stopping"},
    meaning{1927, effect::unknown, errc::unavailable, ended},
    meaning{1184, effect::unknown, errc::unavailable, ended},
    meaning{1158, effect::unknown, errc::unavailable, ended},
    meaning{1159, effect::unknown, errc::unavailable, ended},
    meaning{1160, effect::unknown, errc::unavailable, ended},
    meaning{1161, effect::unknown, errc::unavailable, ended},
    meaning{1142, effect::none, errc::no_permission,
            "this user needs the rights SELECT, INSERT and UPDATE on the table of locks"},
    meaning{1143, effect::none, errc::no_permission,
            "this user needs the rights SELECT, INSERT and UPDATE on the table of locks"},
    meaning{1146, effect::none, errc::invalid_argument,
            "the table of locks does not exist; ?create=true in the URL makes it, if this user may, or "
            "what holdfast doctor --sql prints"},
    meaning{1054, effect::none, errc::invalid_argument,
            "the table of locks has other columns than this version of holdfast knows"},
    meaning{1046, effect::none, errc::invalid_argument, "the URL names no database"},
    meaning{1049, effect::none, errc::invalid_argument, "the database does not exist"},
    meaning{1044, effect::none, errc::no_permission, "this user has no rights in the database"},
    meaning{1045, effect::none, errc::no_permission, refuses},
    meaning{1698, effect::none, errc::no_permission, refuses},
    meaning{1130, effect::none, errc::no_permission, "the server refuses this machine"},
    meaning{1129, effect::none, errc::no_permission,
            "the server refuses this machine after too many failures"},
    meaning{1406, effect::none, errc::invalid_argument, "the name is longer than the column of the table"},
    meaning{1300, effect::none, errc::invalid_argument,
            "the name is no text in the encoding of the database"},
    meaning{1366, effect::none, errc::invalid_argument,
            "the name has characters that the column of the table has not"},
    meaning{1267, effect::none, errc::invalid_argument,
            "the name has characters that the column of the table has not"},
    meaning{1153, effect::none, errc::bad_reply,
            "a lock has more holders and waiters than max_allowed_packet of the server has room for"},
};

}  // namespace

sql_backend::fault fault_of(unsigned number, std::string_view text, bool changes) {
    std::string shown{text};
    std::replace(shown.begin(), shown.end(), '\n', ' ');
    shown = base::printable(shown);
    const auto lost = changes ? effect::unknown : effect::none;
    constexpr unsigned of_the_library = 2000;
    if (number >= of_the_library && number < 3000)
        return {lost, {make_error_code(errc::unavailable), "the connection is broken: " + shown, {}}};
    const auto found =
        std::find_if(meanings.begin(), meanings.end(), [&](const auto& m) { return m.number == number; });
    if (found == meanings.end())
        return {effect::none,
                {make_error_code(errc::bad_reply), "the server reports error " + std::to_string(number),
                 std::move(shown)}};
    return {found->what == effect::unknown ? lost : found->what,
            {make_error_code(found->code), found->text, std::move(shown)}};
}

bool ends_session(unsigned number) noexcept {
    constexpr std::array all{1053U, 1927U, 1184U, 1158U, 1159U, 1160U, 1161U};
    return (number >= 2000 && number < 3000) || std::find(all.begin(), all.end(), number) != all.end();
}

bool spends_session(unsigned number) noexcept {
    return number == 1290 || number == 1792 || number == 1836 || number == 1047;
}

}  // namespace holdfast::mariadb_backend
