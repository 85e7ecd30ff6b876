// What a client learns of the connections of its pool.
#pragma once

#include "backends/services.hpp"
#include "backends/sql/pool.hpp"
#include "backends/sql/quarantine.hpp"

#include <memory>

namespace holdfast::sql_backend {

// Notices about the link, and the runs of the server for a quarantine, if there is one.
[[nodiscard]] link_handlers report_links(const backends::services& to, std::shared_ptr<quarantine> restarts);

}  // namespace holdfast::sql_backend
