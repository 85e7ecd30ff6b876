// What the nodes of a semaphore say at one moment.
#pragma once

#include "backends/zookeeper/semaphore_nodes.hpp"
#include "engine/lock_record.hpp"
#include "zookeeper/session.hpp"

#include <functional>
#include <memory>

namespace holdfast::zookeeper_backend {

struct semaphore_seen {
    std::string alien{};                         // a child of its directory that is none of a semaphore
    bool latch = false;                          // the name is that of a latch
    std::optional<engine::lock_record> count{};  // the number of permits, and what repeated requests need
    std::int32_t count_version = 0;              // of its node, which exists if `count` is there
    std::vector<std::string> line{};
    std::optional<std::vector<std::string>> permits{};  // that are held; empty: they have no directory
    std::int32_t permits_version = 0;                   // of the data of their directory

    [[nodiscard]] std::int64_t out() const {
        return permits ? static_cast<std::int64_t>(permits->size()) : 0;
    }
    // Empty: their number is not set.
    [[nodiscard]] std::optional<std::int64_t> total() const {
        return count && count->count ? std::optional{count->count->value} : std::nullopt;
    }
    [[nodiscard]] const std::vector<std::string>& held() const {
        static const std::vector<std::string> none;
        return permits ? *permits : none;
    }
    // Why no semaphore can be there.
    [[nodiscard]] std::optional<backend::failure> objection(const semaphore_paths&) const;
};

// Reads the line before the permits: a permit that is not seen was created by nobody before the first of the
// line. With a watch, a change of the permits or of their number causes an event. Calls `done` once, on the
// reactor's thread.
void read_semaphore(const std::shared_ptr<zookeeper::session>&, const semaphore_paths&, backend::kind of,
                    zookeeper::watch, backend::time_point deadline,
                    std::function<void(backend::result<semaphore_seen>)> done);

}  // namespace holdfast::zookeeper_backend
