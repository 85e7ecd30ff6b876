// Requests of operators to holders: give up your lease.
#pragma once

#include "backends/zookeeper/paths.hpp"
#include "base/annotations.hpp"
#include "store/inspection.hpp"
#include "zookeeper/session.hpp"

#include <map>
#include <memory>
#include <string>

namespace holdfast::zookeeper_backend {

// Curator's "__REVOKE__" in the data of the holder's node asks it to release the lock. A client of holdfast
// also finds there the path of a node of the operator, which it deletes once its lease has ended: that the
// holder's own node is gone would not prove it, because others may have deleted that.
//
// Thread-safe.
class eviction_requests {
  public:
    eviction_requests(std::shared_ptr<zookeeper::session> with, const paths& where, zookeeper::access whom)
        : session_(std::move(with)), paths_(where), access_(whom) {}

    void ask(const lock_name&, const backend::holder_info&, backend::time_point deadline,
             backend::handler<backend::result<backend::asked>>);
    void evict(const lock_name&, const std::vector<std::string>& owners, backend::time_point deadline,
               backend::handler<backend::result<std::vector<backend::evicted>>>);
    // The nodes that holders were to delete are gone with the session.
    void on_expired();

  private:
    struct asking;

    void request(const std::shared_ptr<asking>&, const std::string& node);
    // `node`: of the holder; empty: it holds no more.
    void look_for_confirmation(const std::shared_ptr<asking>&, const std::string& node);
    void write(const std::shared_ptr<asking>&, const std::string& node);

    const std::shared_ptr<zookeeper::session> session_;
    const paths& paths_;
    const zookeeper::access access_;
    base::mutex mutex_;
    struct sent {
        std::string path;      // of the node to delete
        bool written = false;  // into the holder's node
    };
    std::map<std::string, sent> sent_ GUARDED_BY(mutex_);  // by owner
};

}  // namespace holdfast::zookeeper_backend
