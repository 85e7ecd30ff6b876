// A ZooKeeper server in memory, for what real servers do once in a million times.
#pragma once

#include "support/unique_fd.hpp"
#include "zookeeper/wire.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace holdfast::test {

// Listens on a free port of 127.0.0.1. Knows the requests that the store sends, and no others; sessions end
// when a client closes them, or by end_sessions(). Functions may be called from any thread.
class fake_zookeeper {
  public:
    struct asked {
        zookeeper::op what;
        std::string path;  // of a multi: the first
        std::string data;
        std::size_t size;  // of the request
    };
    // What becomes of a request. Without an opinion it is carried out and answered.
    struct reaction {
        enum class fate {
            answered,
            answer_lost,  // carried out, and the connection is cut
            lost,         // it is cut before that
            silence,
        };
        fate how = fate::answered;
        std::optional<zookeeper::code> refusal{};           // it is not carried out
        std::optional<std::vector<std::string>> listing{};  // instead of the children
    };
    using rule = std::function<reaction(const asked&)>;

    fake_zookeeper();
    fake_zookeeper(const fake_zookeeper&) = delete;
    fake_zookeeper& operator=(const fake_zookeeper&) = delete;
    ~fake_zookeeper();

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::string host() const { return "127.0.0.1:" + std::to_string(port_); }
    // "zk://host?tick=200ms".
    [[nodiscard]] std::string url() const { return "zk://" + host() + "?tick=200ms"; }

    // Called on the thread of the server, without a lock, for each request, pings too; it may call functions
    // of this object.
    void set_rule(rule r);
    // From now on, logins are answered with this timeout, and not with what they ask for.
    void grant(std::int32_t timeout_ms);
    // Accepts no login: the connection is closed when one has arrived.
    void refuse_logins(bool refuse);
    // Closes each connection once its login is answered.
    void hang_up(bool after_logins);
    [[nodiscard]] std::size_t logins() const;
    // How many requests of this type have arrived.
    [[nodiscard]] std::size_t seen(zookeeper::op what) const;
    // As if the leader ended them.
    void end_sessions();
    void cut_all();

    // As another client, in a session of its own.
    void create(const std::string& path, const std::string& data = {});
    void remove(const std::string& path);
    [[nodiscard]] bool has(const std::string& path) const;
    [[nodiscard]] std::vector<std::string> children(const std::string& path) const;
    [[nodiscard]] std::string data(const std::string& path) const;

  private:
    struct node {
        std::string data;
        std::int64_t czxid = 0;
        std::int64_t session = 0;  // 0: it stays
        std::int32_t version = 0;
        std::int32_t numbers = 0;  // given to children
    };
    struct connection {
        unique_fd fd;
        zookeeper::frame_reader in;
        std::int64_t session = 0;
        bool open = true;
    };

    void run();
    void read(connection& c);
    void serve(connection& c, std::string_view frame);
    void log_in(connection& c, std::string_view frame);
    [[nodiscard]] zookeeper::code carry_out(connection& c, const asked& q, std::string_view body,
                                            const reaction& how, std::string& answer);
    void put(const std::string& path, std::string data, std::int64_t session);
    void erase(const std::string& path);
    void end(std::int64_t session);
    void notify(const std::string& path, zookeeper::event::what);
    [[nodiscard]] std::vector<std::string> names_in(const std::string& directory) const;
    [[nodiscard]] std::string stat_of(const std::string& path) const;
    static void send(connection& c, const std::string& content);

    unique_fd listener_;
    std::uint16_t port_;
    unique_fd wake_;
    mutable std::mutex mutex_;  // guards everything below
    rule rule_;
    std::optional<std::int32_t> granted_;
    bool refuses_ = false;
    bool hangs_up_ = false;
    bool stopping_ = false;
    std::size_t logins_ = 0;
    std::map<zookeeper::op, std::size_t> seen_;
    std::map<std::string, node> nodes_;
    std::set<std::int64_t> sessions_;
    std::multimap<std::string, connection*> watches_;
    std::list<connection> connections_;
    std::int64_t zxid_ = 100;
    std::thread thread_;  // last
};

}  // namespace holdfast::test
