// A Nacos in memory: the part of its HTTP interfaces that clients use, and what real servers rarely do.
#pragma once

#include "support/nacos_centre.hpp"
#include "support/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace holdfast::test {

// Listens on a port of 127.0.0.1, which it keeps. Functions may be called from any thread.
class fake_nacos : public nacos_centre {
  public:
    struct asked {
        std::string method, target, headers, form;
    };
    struct answered {
        int status = 200;
        std::string body{};
        std::string headers{};  // lines that end with \r\n
    };
    // Answers instead of the server, if it returns something. Called on the server's thread.
    using rule = std::function<std::optional<answered>(const asked&)>;

    explicit fake_nacos(version has);
    ~fake_nacos() override;

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    using nacos_centre::url;
    [[nodiscard]] std::string url(const std::string& id, const std::string& password) const override;
    void publish(const std::string& id, const std::string& text) override;
    void erase(const std::string& id) override;
    void stop() override;
    void start() override;
    void pause() override;
    void resume() override;

    void set_rule(rule r);
    // The requests so far whose target contains this.
    [[nodiscard]] std::size_t count(const std::string& part) const;
    [[nodiscard]] std::vector<asked> all() const;

  private:
    using clock = std::chrono::steady_clock;
    struct connection {
        unique_fd fd;
        std::string got;
        std::optional<asked> held{};  // a long poll
        clock::time_point until{};
    };

    void run();
    void serve(connection& c);
    [[nodiscard]] std::optional<answered> answer(const asked& a);
    [[nodiscard]] std::optional<answered> poll(const asked& a) const;
    [[nodiscard]] bool lets_in(const asked& a) const;
    void wake() const;

    const version has_;
    unique_fd reserved_;
    const std::uint16_t port_;
    unique_fd wake_;

    mutable std::mutex mutex_;  // guards everything below; the thread holds it except in its poll
    unique_fd listener_;
    std::list<connection> connections_;
    std::map<std::string, std::string> texts_;
    std::vector<asked> asked_;
    rule rule_;
    int tokens_ = 0;  // given so far
    int first_valid_ = 1;
    bool paused_ = false;
    bool ending_ = false;

    std::thread thread_;
};

}  // namespace holdfast::test
