// All questions to a server and its answers. A value, so that tests of the checks can use texts.
#pragma once

#include "backends/redis/doctor/rights.hpp"
#include "redis/connection/server_info.hpp"
#include "redis/protocol/outcome.hpp"
#include "store/inspection.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis_backend::doctor {

// The answer to one question. Default: not asked.
class server_answer {
  public:
    server_answer() = default;
    explicit server_answer(redis::outcome o) : outcome_(std::move(o)) {}

    // The reply, if it is no error; otherwise null.
    [[nodiscard]] const redis::reply* reply() const noexcept;
    // The text of a text reply; empty for other replies.
    [[nodiscard]] std::string_view text() const noexcept;
    [[nodiscard]] std::optional<std::int64_t> integer() const noexcept;
    // Whether the server replied, be it an error.
    [[nodiscard]] bool answered() const noexcept;
    // Why there is no answer.
    [[nodiscard]] backend::failure why() const;
    // Why there is no reply, as a sentence for people.
    [[nodiscard]] std::string why_not() const;

  private:
    std::optional<redis::outcome> outcome_;
};

// One TIME, and this machine's clock before and after it, in microseconds since 1970.
struct clock_sample {
    std::int64_t sent = 0;
    std::int64_t got = 0;
    std::int64_t server = 0;

    [[nodiscard]] std::chrono::microseconds round_trip() const {
        return std::chrono::microseconds{got - sent};
    }
    [[nodiscard]] std::chrono::microseconds offset() const {
        return std::chrono::microseconds{server - sent - (got - sent) / 2};
    }
    [[nodiscard]] std::chrono::microseconds error() const {
        return std::chrono::microseconds{(got - sent + 1) / 2};
    }
};

// The settings that CONFIG GET is asked for, one by one: servers before 7 take only one at a time.
inline constexpr std::array settings_asked{
    std::string_view{"appendonly"},
    std::string_view{"appendfsync"},
    std::string_view{"save"},
    std::string_view{"min-replicas-to-write"},
    std::string_view{"timeout"},
    std::string_view{"tcp-keepalive"},
    std::string_view{"busy-reply-threshold"},
    std::string_view{"maxclients"},
    std::string_view{"enable-debug-command"},
    std::string_view{"cluster-require-full-coverage"},
};

// The role of a server for us.
enum class part : std::uint8_t {
    addressed,  // the only server of a URL
    master,     // one of several servers: locks live on it
    replica,    // takes over when its master ends
    sentinel,   // promotes the replica
};

struct snapshot {
    backend::examine_request wanted;
    part as = part::addressed;
    std::string watched;  // for a sentinel: the name of the master that it watches
    redis::server_info connection;
    std::int64_t now = 0;  // this machine's time, in microseconds since 1970

    server_answer info;
    std::map<std::string_view, server_answer> settings;
    server_answer whoami;
    server_answer user;       // ACL GETUSER
    server_answer patterns;   // PUBSUB NUMPAT
    server_answer receivers;  // PUBLISH to a channel of ours with a random name
    server_answer cluster_info;
    server_answer cluster_nodes;
    server_answer watched_master;    // SENTINEL MASTER of the name
    server_answer watched_replicas;  // SENTINEL REPLICAS
    server_answer quorum;            // SENTINEL CKQUORUM
    server_answer time;              // the reply to TIME, if `clock` is empty
    bool own_clock_set = false;      // this machine's clock was set meanwhile
    std::vector<clock_sample> clock;
    std::optional<rights_question> rights;
    server_answer verdicts;

    // The address of the server, with the number of the database if it is not 0.
    [[nodiscard]] std::string address() const;
    // A field of INFO; empty if INFO was refused, or there is no such field.
    [[nodiscard]] std::optional<std::string_view> field(std::string_view name) const;
    [[nodiscard]] std::optional<std::int64_t> number(std::string_view name) const;
    // A setting; empty if CONFIG GET was refused, or there is no such setting.
    [[nodiscard]] std::optional<std::string> setting(std::string_view name) const;
    // Why the field or the setting is empty.
    [[nodiscard]] std::string why_no_field(std::string_view name) const;
    [[nodiscard]] std::string why_no_setting(std::string_view name) const;

    [[nodiscard]] bool is_cluster() const;
    [[nodiscard]] bool is_replica() const;
    // The sample with the shortest round trip.
    [[nodiscard]] std::optional<clock_sample> best_clock() const;
};

// Finds a value in a reply of alternating names and values, as sentinels send it. Empty if the name is
// missing.
[[nodiscard]] std::string_view named_value(const redis::reply& pairs, std::string_view name);

// A value in "ip=10.0.0.2,port=6379,state=online,offset=14,lag=1", as INFO lists replicas.
[[nodiscard]] std::string_view part_of(std::string_view line, std::string_view name);

// A whole number and nothing else.
[[nodiscard]] std::optional<std::int64_t> whole(std::string_view text) noexcept;

}  // namespace holdfast::redis_backend::doctor
