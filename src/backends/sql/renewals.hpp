// Renews many leases by two statements.
#pragma once

#include "backends/sql/change.hpp"

#include <functional>
#include <vector>

namespace holdfast::sql_backend {

struct renew_handlers {
    // Renews one lease by statements of its own.
    std::function<void(const backend::renew_request&, handler<backend::renew_answer>, time_point deadline)>
        alone;
    // Called once, with the answers in the order of the requests.
    std::function<void(std::vector<backend::renew_answer>)> done;
};

// Reads all records, renews, and writes those that nobody has changed meanwhile. The rest is renewed alone.
void renew_together(const change_tools& with, std::vector<backend::renew_request> all, time_point deadline,
                    renew_handlers to);

}  // namespace holdfast::sql_backend
