// The owners of this client that want or hold locks, and their nodes in the ensemble.
#pragma once

#include "backends/common/waiter_registry.hpp"
#include "backends/zookeeper/contender.hpp"
#include "backends/zookeeper/names.hpp"
#include "backends/zookeeper/paths.hpp"
#include "backends/zookeeper/semaphore_reading.hpp"
#include "backends/zookeeper/session_bound.hpp"
#include "backends/zookeeper/url.hpp"
#include "base/annotations.hpp"
#include "store/store.hpp"
#include "zookeeper/session.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace holdfast::zookeeper_backend {

// Thread-safe. It calls handlers without a lock. A caller without memory receives std::bad_alloc, and its
// handler is not called, or an answer with errc::out_of_memory; the owner's later requests are carried out.
//
// An owner's node is created once and stays while the owner waits; a request that is repeated finds it in
// memory, or, after a lost answer, in the ensemble by the UUID in its name. What the node's session has ended
// with is forgotten. An owner of permits of a semaphore has a node for each, and while it waits one in the
// line.
class contention {
  public:
    contention(std::shared_ptr<zookeeper::session>, const paths&, zookeeper::access, fence_source,
               session_bound&, std::function<void(const backend::notice&)> notify);

    void attempt(const backend::attempt_request&, backend::time_point deadline,
                 backend::handler<backend::attempt_answer>);
    void renew(std::span<const backend::renew_request>, backend::time_point deadline,
               backend::handler<std::vector<backend::renew_answer>>);
    void release(const backend::release_request&, backend::time_point deadline,
                 backend::handler<backend::release_answer>);
    // adjustment::raise_fence, with fences that follow the time.
    void raise_fence(const backend::adjust_request&, backend::time_point deadline,
                     backend::handler<backend::adjust_answer>);
    // With the next proof; needs no memory.
    void release_later(const backend::lock_key&, const owner_id&) noexcept;
    [[nodiscard]] std::unique_ptr<backend::watch_handle> watch(const backend::lock_key&, const owner_id&,
                                                               backend::handler<backend::watch_event>);
    // From now on, the end of the held nodes of this lock and requests to release it are noticed at once.
    void watch_held(const lock_name&);

    // --- on the reactor's thread ------------------------------------------------------------------------
    void on_attached(std::int64_t session);
    void on_expired();
    void on_event(const zookeeper::event&);
    // Checks all held nodes and proves the session; then calls `done`. Does nothing if nobody holds or waits.
    void prove(backend::time_point deadline, callback<void()> done);

  private:
    using shared = std::shared_ptr<contender>;
    using contender_key = std::pair<role, owner_id>;
    // Finds a contender without a copy of its owner, for which there may be no memory.
    struct key_order {
        using is_transparent = void;
        bool operator()(const auto& a, const auto& b) const {
            return std::tie(a.first, a.second) < std::tie(b.first, b.second);
        }
    };
    using key_view = std::pair<role, const owner_id&>;
    struct attempting;
    using attempt_ptr = std::shared_ptr<attempting>;
    using calls = std::vector<zookeeper::session::call>;

    enum class newcomers { welcome, unknown };
    // Runs the request once those before it for the same owner have ended, each by finished(). False: it does
    // not run, because the owner is unknown.
    [[nodiscard]] bool in_turn(const backend::lock_key&, const owner_id&, newcomers, contender::request);
    // Needs no memory.
    void finished(const shared&);
    void forget(const contender&) REQUIRES(mutex_);

    // The name of the node while it holds the lock; else empty.
    [[nodiscard]] std::string node_of_writer(const owner_id& writer);
    void begin(const shared&, const attempt_ptr&);
    void look(const shared&, const attempt_ptr&);
    void create(const shared&, const attempt_ptr&);
    void on_created(const shared&, const attempt_ptr&, const zookeeper::answer&);
    void relist(const shared&, const attempt_ptr&);
    void on_listed(const shared&, const attempt_ptr&, const zookeeper::answer&);
    void look_for_latch(const shared&, const attempt_ptr&, std::function<void()> otherwise);
    void decide(const shared&, const attempt_ptr&, std::span<const std::string> children);
    void refuse_name(const shared&, const attempt_ptr&, const place&);
    void stand_in_line(const shared&, const attempt_ptr&, const place&);
    void on_predecessor(const shared&, const attempt_ptr&, const place&, const zookeeper::answer&);
    void withdraw(const shared&, const attempt_ptr&, backend::attempt_answer then);
    void grant(const shared&, const attempt_ptr&);
    void give(const shared&, const attempt_ptr&);
    void end(const shared&, const attempt_ptr&, backend::attempt_answer);  // needs no memory
    void end_without_answer(const shared&, const attempt_ptr&, const zookeeper::answer&);
    void end_by(const shared&, const attempt_ptr&, backend::failure);

    // --- fences that follow the time ---
    [[nodiscard]] bool writes_fence(const contender&) const;
    void give_fence(const shared&, const attempt_ptr&);
    // Writes down what `next` makes of the last fence (0: there is none), while the contender's node exists.
    // `done` receives the last answer; if that is no success, the contender has no fence.
    struct writing_fence;
    void write_fence(const std::shared_ptr<writing_fence>&);
    void on_last_fence(const std::shared_ptr<writing_fence>&, const zookeeper::answer&);
    void on_fence_written(const std::shared_ptr<writing_fence>&, std::uint64_t fence, bool is_first,
                          const zookeeper::answer&);
    [[nodiscard]] calls makers_of(const std::string& fence_path) const;

    // --- permits of a semaphore ---
    void begin_permits(const shared&, const attempt_ptr&);
    void read_permits(const shared&, const attempt_ptr&);
    void decide_permits(const shared&, const attempt_ptr&, const semaphore_seen&);
    [[nodiscard]] bool refuse_permits(const shared&, const attempt_ptr&, const semaphore_seen&);
    void set_total(const shared&, const attempt_ptr&);
    void wait_for_permits(const shared&, const attempt_ptr&, const semaphore_seen&);
    void take_permits(const shared&, const attempt_ptr&, const semaphore_seen&);
    [[nodiscard]] bool on_taken(const shared&, const attempt_ptr&, const zookeeper::answer&);
    void judge_permits(const shared&, const attempt_ptr&, std::span<const std::string> listed,
                       std::int64_t total);
    void leave_line(const shared&, const attempt_ptr&);
    void make_permits_directory(const shared&, const attempt_ptr&);
    void search_permits(const shared&, backend::time_point deadline,
                        std::function<void(const zookeeper::answer&)> done);
    void adopt_permits(const shared&, const std::vector<std::string>& names, backend::time_point deadline,
                       const std::function<void(const zookeeper::answer&)>& done);

    using releasing = std::shared_ptr<backend::handler<backend::release_answer>>;  // empty once it is called
    void begin_release(const shared&, const releasing&, backend::time_point deadline);
    void carry_out_release(const shared&, const releasing&, backend::time_point deadline);
    void end(const shared&, const releasing&, backend::release_answer);
    // Deletes all nodes of a contender, and forgets them. What is not answered is done later. `done` receives
    // an answer that tells of a failure, else one that tells of a node that was gone, else any.
    void remove_nodes(const shared&, backend::time_point deadline,
                      const std::function<void(const zookeeper::answer&)>& done);
    // Looks for what a request without an answer may have created. `done` receives the last answer.
    void search_all(const shared&, backend::time_point deadline,
                    std::function<void(const zookeeper::answer&)> done);
    // Looks for the node of a creation without an answer. `done` receives the last answer.
    void search(const shared&, backend::time_point deadline,
                std::function<void(const zookeeper::answer&)> done);
    void on_searched(const shared&, backend::time_point deadline, const zookeeper::answer&,
                     const std::function<void(const zookeeper::answer&)>& done);

    // Nobody wants its node any more: it is deleted when the ensemble answers again. Otherwise it would keep
    // others out while the session lasts.
    void doom(const shared&);
    void delete_doomed();
    [[nodiscard]] bool holds(const shared&);

    [[nodiscard]] static zookeeper::session::call show_holds(contender&, std::uint32_t holds);
    // False: nobody wants the lock any more.
    [[nodiscard]] bool hold(const shared&);
    void drop(const shared&);
    void let_go(contender&) REQUIRES(mutex_);
    void unwatch(const shared&) REQUIRES(mutex_);
    void lost(const std::string& path);
    void look_for_revocation(const std::string& path);
    void confirm_to(const std::string& path, const std::string& request, const owner_id& owner);
    void watch_held_node(const std::string& path);
    [[nodiscard]] bool is_contended(const lock_name&);
    void remember_contended(const lock_name&);
    void forget_contended(const lock_name&);

    const std::shared_ptr<zookeeper::session> session_;
    const paths& paths_;
    const zookeeper::access access_;
    const fence_source fences_;
    session_bound& bound_;
    const std::function<void(const backend::notice&)> notify_;
    const std::shared_ptr<backends::waiter_registry> waiters_ = std::make_shared<backends::waiter_registry>();
    std::atomic<std::int64_t> current_session_{0};  // 0: it has ended, or not begun

    base::mutex mutex_;
    std::map<contender_key, shared, key_order> contenders_ GUARDED_BY(mutex_);
    std::multimap<std::string, shared> watched_
        GUARDED_BY(mutex_);                                  // by the paths of the nodes that are watched
    std::map<std::string, shared> held_ GUARDED_BY(mutex_);  // by the paths of the own nodes
    std::set<std::string> watched_held_ GUARDED_BY(mutex_);  // paths of them
    std::set<lock_name> contended_ GUARDED_BY(mutex_);
    std::uint64_t connection_ GUARDED_BY(mutex_) = 0;
};

}  // namespace holdfast::zookeeper_backend
