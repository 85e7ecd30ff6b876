// Inside of cluster: which servers there are, what is sent to which, and what happens when that was wrong.
#pragma once

#include "base/annotations.hpp"
#include "redis/cluster_channels.hpp"
#include "redis/cluster_config.hpp"
#include "redis/node.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

// The map (refresh):
//   idle       it is believed
//   scheduled  it will be asked for again, as soon as the last time is long enough past
//   asking     a server was asked; if it does not say at once, the next one is asked beside it, and so on
//
// It is asked for again after a MOVED, when a master is lost, and then until none is missing; and while
// commands wait for a slot that nobody serves.
//
// Thread-safe. `mutex_` is never held over a handler or while a command is submitted.
class cluster_core : public std::enable_shared_from_this<cluster_core> {
  public:
    cluster_core(cluster_config, io::reactor&, std::function<void(const node_event&)> on_event);
    void start();
    // As database's destructor.
    void close();
    void abandon() noexcept;

    // To the servers of their slots.
    void submit(std::vector<request>);
    void submit_one(request);
    void submit_at(const std::string& server, request);

    // Calls `go` when the masters are known, or with what prevents that when `until` has come.
    using go_on = callback<void(const not_sent*), 64>;
    void when_known(time_point until, go_on go);
    [[nodiscard]] std::vector<std::string> masters() const;

    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler, pubsub how);
    [[nodiscard]] pubsub channels() const noexcept { return how_.load(std::memory_order_relaxed); }

    // The one whose connection this thread has sent on last; may be empty.
    [[nodiscard]] std::shared_ptr<node> driven_here() const;
    [[nodiscard]] std::uint64_t commands_sent() const;
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const;

  private:
    struct member {
        std::shared_ptr<node> server;
        bool up = false;    // connected
        bool lost = false;  // was connected or tried to, and is not
        fault why;          // of the loss
    };
    // One that is asked for the map.
    struct candidate {
        endpoint at;
        std::optional<fault> no_map;  // why there is none from it; empty: it has not said yet
    };
    enum class refresh { idle, scheduled, asking };

    // --- cluster_core.cpp: commands and servers
    [[nodiscard]] member& member_at(const endpoint&) REQUIRES(mutex_);
    [[nodiscard]] std::shared_ptr<node> server_of(std::uint16_t slot) REQUIRES(mutex_);
    [[nodiscard]] bool redirect(const endpoint& from, request&, outcome&);
    void ask_there(const endpoint& to, request);
    void note_moved(const redirection&) REQUIRES(mutex_);
    void wait_for_map(time_point until, go_on go);
    void expire();
    void let_go(const not_sent* why);
    [[nodiscard]] not_sent why_unknown() const REQUIRES(mutex_);
    void retire(const std::shared_ptr<node>&) REQUIRES(mutex_);

    // --- cluster_refresh.cpp: the map
    void refresh_soon() REQUIRES(mutex_);
    void begin_refresh();
    void ask_next(unsigned round);
    void on_map(std::size_t candidate, unsigned round, outcome&&);
    void on_no_map(std::size_t candidate, unsigned round, fault);
    void believe(cluster_map map);
    void none_answered();
    [[nodiscard]] std::string why_no_map() const REQUIRES(mutex_);
    [[nodiscard]] bool something_is_missing() const REQUIRES(mutex_);
    void on_member_event(const endpoint&, const node_event&);

    const cluster_config config_;
    io::reactor& reactor_;
    const std::function<void(const node_event&)> on_event_;
    std::shared_ptr<cluster_channels> channels_;
    std::atomic<pubsub> how_;

    mutable base::mutex mutex_;
    bool closed_ GUARDED_BY(mutex_) = false;
    cluster_map map_ GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<node>> owners_
        GUARDED_BY(mutex_);  // by the map's numbers; empty: not yet made
    std::map<endpoint, member> members_ GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<node>> retired_ GUARDED_BY(mutex_);
    std::uint64_t sent_by_retired_ GUARDED_BY(mutex_) = 0;
    struct waiting {
        time_point until;
        go_on go;
    };
    std::vector<waiting> waiting_ GUARDED_BY(mutex_);
    std::string no_map_ GUARDED_BY(mutex_);                // why there is none
    std::optional<not_sent> hopeless_ GUARDED_BY(mutex_);  // somebody must mend the configuration first
    std::optional<not_sent> misuse_ GUARDED_BY(mutex_);    // likewise, said by one of those asked just now

    refresh refresh_ GUARDED_BY(mutex_) = refresh::idle;
    bool again_ GUARDED_BY(mutex_) = false;  // wanted once more while one is under way
    time_point last_refresh_ GUARDED_BY(mutex_){};
    time_point refresh_at_ GUARDED_BY(mutex_){};
    io::timer_id refresh_timer_ GUARDED_BY(mutex_);
    unsigned in_vain_ GUARDED_BY(mutex_) = 0;  // refreshes in a row after which something was missing
    std::optional<endpoint> preferred_ GUARDED_BY(mutex_);  // was named by a MOVED, so it knows
    std::vector<candidate> candidates_ GUARDED_BY(mutex_);
    std::size_t next_candidate_ GUARDED_BY(mutex_) = 0;
    unsigned round_ GUARDED_BY(mutex_) = 0;  // answers of earlier ones say nothing
    bool sharding_settled_ GUARDED_BY(mutex_) = false;

    // Reactor thread only.
    std::optional<bool> told_up_;  // the last thing told, if anything was
    bool restarted_ = false;
    server_info last_up_;
    std::string last_up_at_;
};

}  // namespace holdfast::redis
