// A table that a store needs.
#pragma once

namespace holdfast::sql_backend {

struct table {
    const char* name;
    const char* columns;  // that the statements use
    const char* rights;   // that they need
    const char* sql;      // makes it, with ?create=true
};

}  // namespace holdfast::sql_backend
