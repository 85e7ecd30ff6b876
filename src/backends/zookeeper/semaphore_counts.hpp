// The number of permits of semaphores: a node with a count, which is read, changed, and written if nobody
// else wrote or took permits meanwhile.
#pragma once

#include "backends/zookeeper/semaphore_reading.hpp"
#include "store/counters.hpp"
#include "zookeeper/session.hpp"

#include <memory>
#include <string>
#include <vector>

namespace holdfast::zookeeper_backend {

// Thread-safe. It calls handlers without a lock.
class semaphore_counts {
  public:
    // `remembers`: how long a repeated adjustment is recognized.
    semaphore_counts(std::shared_ptr<zookeeper::session>, const paths&, zookeeper::access,
                     backend::milliseconds remembers);

    void adjust(const backend::adjust_request&, backend::time_point deadline,
                backend::handler<backend::adjust_answer>);

  private:
    struct changing;
    using change = std::shared_ptr<changing>;

    void read(const change&);
    void decide(const change&, const semaphore_seen&);
    void write(const change&, const semaphore_seen&, const engine::lock_record& after,
               const std::vector<std::string>& freed);
    void create(const change&, const engine::lock_record& after);
    void make_directory(const change&);
    void on_written(const change&, const zookeeper::answer&);

    const std::shared_ptr<zookeeper::session> session_;
    const paths& paths_;
    const zookeeper::access access_;
    const backend::milliseconds remembers_;
};

}  // namespace holdfast::zookeeper_backend
