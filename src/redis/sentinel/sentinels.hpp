// The sentinels of one master: asks them for its address and receives their messages.
#pragma once

#include "io/reactor.hpp"
#include "redis/connection/endpoint_source.hpp"
#include "redis/database.hpp"
#include "redis/node_event.hpp"
#include "redis/sentinel/master_majority.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::redis {

// The configuration for one sentinel. `master` has `sentinels` set; its time-outs, client name and TLS apply
// to the sentinels too.
[[nodiscard]] node_config config_of_sentinel(const node_config& master, const host_port& at);

// Asks all sentinels at once, and counts their answers with `master_majority`:
//   - before each connection to the master is made, so also after one was lost
//   - when a sentinel reports a switch, or is connected again
//   - every `period`, in case a message was lost
// Keeps existing connections while no majority answers, because locking does not depend on sentinels.
//
// Call `make`, `close` and `abandon` on any thread, all else on the reactor thread.
class sentinels final : public endpoint_source, public std::enable_shared_from_this<sentinels> {
  public:
    static constexpr std::chrono::seconds period{10};
    // The limit for an answer or a connection: a sentinel has little to do.
    static constexpr std::chrono::milliseconds patience{1000};

    // Makes the client of one sentinel. Connects at once.
    using connect_to = std::function<std::unique_ptr<database>(
        const node_config&, std::function<void(const node_event&)> on_event)>;

    // For `master` see config_of_sentinel.
    [[nodiscard]] static std::shared_ptr<sentinels> make(const node_config& master, io::reactor&,
                                                         const connect_to&);
    // See endpoint_source.
    void where(std::function<void(const answer&)> done) override;
    [[nodiscard]] std::shared_ptr<void> follow(std::function<void(const host_port&)> moved) override;

    // Ends all connections; no callback runs afterwards. Waits for the reactor.
    void close();
    // See database::abandon.
    void abandon() noexcept;

  private:
    // One sentinel.
    struct sentinel {
        std::unique_ptr<database> server;
        std::unique_ptr<subscription> switches;
        std::optional<fault> down;  // why there is no connection; empty: there is one, or it is being made
        unsigned asked = 0;         // number of the last question; answers to earlier ones are ignored
    };

    sentinels(const node_config&, io::reactor&);
    void begin();
    void open_round();
    void on_news_from(std::size_t);
    void ask(std::size_t);
    void decide_soon();
    void decide();
    void on_event(std::size_t, const node_event&);
    void on_answer(std::size_t, unsigned asked, sentinel_reply);

    const node_config master_;
    const std::chrono::milliseconds
        patience_;  // less than for a connection to the master, which waits for the sentinels
    io::reactor& reactor_;
    master_majority majority_;
    std::vector<sentinel> sentinels_;
    bool begun_ = false;  // the witnesses are complete
    bool closed_ = false;
    bool round_open_ = false;  // it has no decision yet
    bool decide_posted_ = false;
    std::vector<std::function<void(const answer&)>> waiting_;
    std::vector<std::weak_ptr<std::function<void(const host_port&)>>> followers_;
    std::optional<host_port> place_;
    io::timer_id grace_timer_;
    io::timer_id period_timer_;
};

}  // namespace holdfast::redis
