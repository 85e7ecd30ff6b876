// The implementation of cluster: knows the servers, routes commands to them and follows redirections.
#pragma once

#include "base/annotations.hpp"
#include "redis/cluster/cluster_channels.hpp"
#include "redis/cluster/cluster_config.hpp"
#include "redis/node/node.hpp"

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

// The states of the slot map (refresh):
//   idle       the map is used as it is
//   scheduled  a refresh starts as soon as the last one is long enough ago
//   asking     a server was asked; if it does not answer soon, the next one is asked too, and so on
//
// The map is refreshed after a MOVED; after the loss of a master, until none is missing; and while commands
// wait for a slot that no server serves.
//
// Thread-safe. `mutex_` is never held over a handler or while a command is submitted.
class cluster_core : public std::enable_shared_from_this<cluster_core> {
  public:
    cluster_core(cluster_config, io::reactor&, std::function<void(const node_event&)> on_event);
    void start();
    // Like the destructor of database.
    void close();
    void abandon() noexcept;

    // Sends each request to the server of its slot.
    void submit(std::vector<request>);
    void submit_one(request);
    void submit_at(const std::string& server, request);

    // Calls `go` with null when the masters are known, or with the reason if they are not by `until`.
    using go_on = callback<void(const not_sent*), 64>;
    void when_known(time_point until, go_on go);
    [[nodiscard]] std::vector<std::string> masters() const;
    // Empty: no server is known for the slot.
    [[nodiscard]] std::string address_of(std::uint16_t slot) const;

    [[nodiscard]] std::unique_ptr<subscription> subscribe(std::string channel, sub_handler, pubsub how);
    [[nodiscard]] pubsub channels() const noexcept { return how_.load(std::memory_order_relaxed); }

    // The node whose connection this thread sent on last; may be null.
    [[nodiscard]] std::shared_ptr<node> last_used_here() const;
    [[nodiscard]] std::uint64_t commands_sent() const;
    [[nodiscard]] std::chrono::nanoseconds smoothed_rtt() const;

  private:
    struct member {
        std::shared_ptr<node> server;
        bool up = false;    // connected
        bool lost = false;  // the connection was lost or could not be made
        fault why;          // reason of the loss
    };
    // A server to ask for the map.
    struct candidate {
        endpoint at;
        std::optional<fault> no_map;  // why it gave none; empty: it has not answered yet
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
    void use_map(cluster_map map);
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
        GUARDED_BY(mutex_);  // by number in the map; null: not yet made
    std::map<endpoint, member> members_ GUARDED_BY(mutex_);
    std::vector<std::shared_ptr<node>> retired_ GUARDED_BY(mutex_);
    std::uint64_t sent_by_retired_ GUARDED_BY(mutex_) = 0;
    struct waiting {
        time_point until;
        go_on go;
    };
    std::vector<waiting> waiting_ GUARDED_BY(mutex_);
    std::string no_map_ GUARDED_BY(mutex_);                // why there is no map
    std::optional<not_sent> hopeless_ GUARDED_BY(mutex_);  // set: the configuration must be fixed
    std::optional<not_sent> misuse_ GUARDED_BY(mutex_);    // likewise, from this round

    refresh refresh_ GUARDED_BY(mutex_) = refresh::idle;
    bool again_ GUARDED_BY(mutex_) = false;  // another refresh is wanted after this one
    time_point last_refresh_ GUARDED_BY(mutex_){};
    time_point refresh_at_ GUARDED_BY(mutex_){};
    io::timer_id refresh_timer_ GUARDED_BY(mutex_);
    unsigned failed_refreshes_ GUARDED_BY(mutex_) =
        0;  // consecutive refreshes after which a server was missing
    std::optional<endpoint> preferred_ GUARDED_BY(mutex_);  // a MOVED named it, so it knows the map
    std::vector<candidate> candidates_ GUARDED_BY(mutex_);
    std::size_t next_candidate_ GUARDED_BY(mutex_) = 0;
    unsigned round_ GUARDED_BY(mutex_) = 0;  // answers of earlier rounds are ignored
    bool sharding_settled_ GUARDED_BY(mutex_) = false;

    // Reactor thread only.
    std::optional<bool> reported_up_;  // the last event; empty before the first
    bool restarted_ = false;
    server_info last_up_;
    std::string last_up_at_;
};

}  // namespace holdfast::redis
