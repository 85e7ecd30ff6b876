// Every kind of lock in one table of an SQL database.
#pragma once

#include "backends/services.hpp"
#include "backends/sql/database.hpp"
#include "backends/sql/database_store.hpp"
#include "backends/sql/dialect.hpp"
#include "backends/sql/quarantine.hpp"

#include <functional>
#include <memory>

namespace holdfast::sql_backend {

struct parts {
    const dialect& speaks;  // lives as long as the program
    std::unique_ptr<database> statements;
    std::unique_ptr<mailbox> messages;
    examiner examine;
    // The id of the session that listens, so that the database does not count it; 0: none.
    std::function<std::int64_t()> own_session;
    std::shared_ptr<const quarantine> restarts{};  // empty: every answer counts
};

// Makes the parts with the handlers of the store.
using assembler = std::function<parts(mailbox::handlers)>;

[[nodiscard]] std::unique_ptr<backend::store> open(const backends::services& given,
                                                   const assembler& assemble);

}  // namespace holdfast::sql_backend
