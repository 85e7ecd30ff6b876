// Five servers, and clients that need a majority of them.
#pragma once

#include "server/scene.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::test {

// Restarts are trusted, unless a test is about them: otherwise servers that were just started are
// quarantined. The timeout suits a busy machine; tests of timeouts choose their own.
inline const std::string relaxed = "restarts=trusted,node_timeout=" + std::to_string(2'000 * slower) + "ms,";

// What the error of `fn` says; nothing if there is none.
inline std::string text_of(const std::function<void()>& fn) {
    try {
        fn();
    } catch (const error& e) {
        return e.what();
    }
    return {};
}

class five_servers : public ::testing::Test {
  protected:
    static constexpr std::size_t n = 5;

    [[nodiscard]] std::string url(const std::string& options = relaxed, std::size_t members = n) const {
        std::string all = "redlock:" + options;
        for (std::size_t i = 0; i < members; ++i) all += (i > 0 ? "," : "") + servers[i].url();
        return all;
    }
    [[nodiscard]] config with(const std::string& options = relaxed, milliseconds lease = 30s) const {
        return settings(url(options), lease);
    }

    [[nodiscard]] std::string token_on(std::size_t i, const std::string& name) {
        return servers[i].command({"GET", name}).text;
    }
    [[nodiscard]] std::size_t members_with(const std::string& name) {
        std::size_t found = 0;
        for (auto& s : servers) found += static_cast<std::size_t>(s.command({"EXISTS", name}).number);
        return found;
    }
    // Another client holds the lock on these members.
    void block(std::initializer_list<std::size_t> which, const std::string& name) {
        for (const auto i : which) servers[i].command({"SET", name, "foreign", "PX", "60000"});
    }
    void unblock(std::initializer_list<std::size_t> which, const std::string& name) {
        for (const auto i : which) servers[i].command({"DEL", name});
    }

    std::array<redis_server, n> servers;
};

}  // namespace holdfast::test
