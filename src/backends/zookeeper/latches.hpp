// Latches: each a node with a count, which is read, changed, and written if nobody else wrote meanwhile.
#pragma once

#include "backends/common/waiter_registry.hpp"
#include "backends/zookeeper/paths.hpp"
#include "base/annotations.hpp"
#include "store/counters.hpp"
#include "store/store.hpp"
#include "zookeeper/session.hpp"

#include <map>
#include <memory>
#include <string>

namespace holdfast::zookeeper_backend {

// Thread-safe. It calls handlers without a lock.
class latches {
  public:
    // `remembers`: how long a repeated adjustment is recognized.
    latches(std::shared_ptr<zookeeper::session>, const paths&, zookeeper::access,
            backend::milliseconds remembers);

    void attempt(const backend::attempt_request&, backend::time_point deadline,
                 backend::handler<backend::attempt_answer>);
    void adjust(const backend::adjust_request&, backend::time_point deadline,
                backend::handler<backend::adjust_answer>);
    [[nodiscard]] std::unique_ptr<backend::watch_handle> watch(const backend::lock_key&, const owner_id&,
                                                               backend::handler<backend::watch_event>);

    // --- on the reactor's thread ------------------------------------------------------------------------
    void on_attached();
    void on_event(const zookeeper::event&);

  private:
    struct changing;
    using change = std::shared_ptr<changing>;

    void read(const change&);
    void on_read(const change&, const zookeeper::answer&);
    void write(const change&, zookeeper::request);
    void remove_directory(const change&);

    const std::shared_ptr<zookeeper::session> session_;
    const paths& paths_;
    const zookeeper::access access_;
    const backend::milliseconds remembers_;
    const std::shared_ptr<backends::waiter_registry> waiters_ = std::make_shared<backends::waiter_registry>();
    base::mutex mutex_;
    std::map<std::string, lock_name> watched_ GUARDED_BY(mutex_);  // by path
};

}  // namespace holdfast::zookeeper_backend
