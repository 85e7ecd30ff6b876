// The sentinels of one master: asked where it is, and listened to.
#pragma once

#include "io/reactor.hpp"
#include "redis/ballot.hpp"
#include "redis/endpoint_source.hpp"
#include "redis/node.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

// To talk to one of them. `master` has its `sentinels` set; what it says of time-outs, name and TLS goes for
// them too.
[[nodiscard]] node_config config_of_sentinel(const node_config& master, const host_port& at);

// Asks all of them at once, and counts their answers by `ballot`:
//   - before each connection to the master is made, so also whenever one was lost
//   - when one of them tells of a switch, or is there again after an absence
//   - every `period`, should a message have been lost
// Connections that stand are left alone while no majority answers: sentinels are no part of the locks' path.
//
// `make`, `close` and `abandon` on any thread; the rest on the reactor's.
class sentinels final : public endpoint_source, public std::enable_shared_from_this<sentinels> {
  public:
    static constexpr std::chrono::seconds period{10};
    // At most, for an answer or for a connection: a sentinel does little.
    static constexpr std::chrono::milliseconds patience{1000};

    // `master` as of config_of_sentinel.
    [[nodiscard]] static std::shared_ptr<sentinels> make(const node_config& master, io::reactor&);
    // See endpoint_source.
    void where(std::function<void(const answer&)> done) override;
    [[nodiscard]] std::shared_ptr<void> follow(std::function<void(const host_port&)> moved) override;

    // Ends all connections; nobody is told anything afterwards. Waits for the reactor.
    void close();
    // See node::abandon.
    void abandon() noexcept;

  private:
    // One of them.
    struct witness {
        std::unique_ptr<node> server;
        std::unique_ptr<subscription> switches;
        std::optional<fault> down;  // why there is no connection; empty: there is, or it is being made
        unsigned asked = 0;         // answers to earlier questions say nothing
    };

    sentinels(const node_config&, io::reactor&);
    void begin();
    void open_round();
    void news_at(std::size_t);
    void ask(std::size_t);
    void settle_soon();
    void settle();
    void on_event(std::size_t, const node_event&);
    void on_answer(std::size_t, unsigned asked, testimony);

    const node_config master_;
    const std::chrono::milliseconds
        patience_;  // less than for a connection to the master, which waits for us
    io::reactor& reactor_;
    ballot ballot_;
    std::vector<witness> witnesses_;
    bool begun_ = false;  // the witnesses are there
    bool closed_ = false;
    bool round_open_ = false;  // somebody waits for its end
    bool settle_posted_ = false;
    std::vector<std::function<void(const answer&)>> waiting_;
    std::vector<std::weak_ptr<std::function<void(const host_port&)>>> followers_;
    std::optional<host_port> place_;
    io::timer_id grace_timer_;
    io::timer_id period_timer_;
};

}  // namespace holdfast::redis
