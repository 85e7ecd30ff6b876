// Reads locks for people.
#pragma once

#include "backends/sql/change.hpp"
#include "store/inspection.hpp"

#include <string>
#include <vector>

namespace holdfast::sql_backend {

// The handlers are called once.
void load_lock(const change_tools& with, const lock_name& name, const std::vector<std::int64_t>& clients,
               time_point deadline, std::function<void(std::variant<loaded, fault>)> done);
void find_lock(const change_tools& with, const lock_name& name, time_point deadline,
               std::function<void(backend::result<backend::lock_info>)> done);
// Locks that are held and whose name matches, page by page.
void list_locks(const change_tools& with, const std::string& glob, time_point deadline,
                std::function<void(backend::result<std::vector<backend::lock_info>>)> done);

}  // namespace holdfast::sql_backend
