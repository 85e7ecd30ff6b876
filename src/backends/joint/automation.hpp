// Changes the mode of a group while its operator has asked for that: tries each level now and then, reports
// what it sees to the arbiter, and proposes what the reports of all say (automatic_rule.hpp). The change is
// the same as by hand, with the same rules, so automation cannot make two holders.
#pragma once

#include "backends/joint/automatic_rule.hpp"
#include "backends/joint/mode_keeper.hpp"
#include "engine/retry_policy.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace holdfast::joint_backend {

// Whether a level does what locks need: a lock nobody else wants is taken and released. Calls `done` on the
// reactor's thread.
// Proposes a change by the group itself.
using automatic_change = std::function<void(const mode_record& from, needed_levels to, change_signature,
                                            time_point deadline, std::function<void()> done)>;
using level_probe = std::function<void(std::size_t level, time_point deadline, std::function<void(bool)>)>;

struct automation_tools {
    io::reactor& reactor;
    backend::linearizable_register& in;  // used until close()
    std::shared_ptr<mode_keeper> keeper;
    std::string name;    // of the register with the reports
    std::string client;  // of this client
    std::string host;
    std::size_t levels;
    milliseconds mode_lease;
    milliseconds down_for;
    milliseconds healthy_for;
    milliseconds answer_timeout;
    level_probe probe;
    automatic_change change;
};

// What it does runs on the reactor's thread.
class automation : public std::enable_shared_from_this<automation> {
  public:
    explicit automation(automation_tools with);

    void begin() { look_in(milliseconds{0}); }
    // On the reactor's thread: nothing is called or used afterwards.
    void close();

  private:
    struct a_level {
        bool is_asked = false;
        bool has_worked = false;
        unsigned failures = 0;       // in a row
        time_point failing_since{};  // of them
    };

    void look_in(boot_clock::duration pause);
    void look();
    void begin_anew();
    void probe_all(time_point now);
    void on_probed(std::size_t level, bool works);
    [[nodiscard]] bool is_down(const a_level& l, time_point now) const;
    [[nodiscard]] needed_levels down(time_point now) const;
    // It is known of each level whether it is down.
    [[nodiscard]] bool knows_all(time_point now) const;
    void exchange_reports(time_point now);
    void on_reports(const backend::result<backend::register_value>& got);
    void on_reported(const backend::result<backend::register_value>& after, const needed_levels& down,
                     const std::string& text);
    void propose(time_point now);

    const automation_tools with_;
    const milliseconds pause_;  // between two looks
    const milliseconds report_every_;
    bool closed_ = false;
    io::timer_id timer_;
    std::vector<a_level> levels_;
    health health_;
    automatic_rule rule_;
    bool is_on_ = false;
    bool is_wanted_ = false;    // there is no other client that reports for this host
    bool reports_ = false;      // this client does
    bool asks_ = false;         // an exchange of reports is under way
    bool proposes_ = false;     // a change is
    time_point exchange_at_{};  // the next one
    needed_levels told_down_;
    backend::register_value known_;
};

}  // namespace holdfast::joint_backend
