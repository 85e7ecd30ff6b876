// Shared by the tests on several servers: their clients, and what each server knows of a lock.
#pragma once

#include "interop/java_scene.hpp"

#include <array>
#include <initializer_list>

namespace holdfast::test {

class several_scene : public ::testing::Test {
  protected:
    // Its waiters poll, since no message reports a majority. Restarts are trusted: the servers were started
    // just now.
    [[nodiscard]] static config redlock_settings(milliseconds lease = 30s) {
        std::string url = "redlock:restarts=trusted,node_timeout=2s";
        for (const auto& server : several_servers()) url += "," + server.url();
        return settings(url, lease);
    }
    [[nodiscard]] static config settings_of(std::size_t i, milliseconds lease = 30s) {
        auto of_one = without_polls(lease);
        of_one.url = several_servers()[i].url();
        return of_one;
    }

    [[nodiscard]] std::size_t servers_with_it() const {
        return static_cast<std::size_t>(
            std::count_if(servers.begin(), servers.end(), [&](auto& s) { return exists(s, name); }));
    }
    [[nodiscard]] bool nothing_is_left() const {
        return eventually(patience, [&] { return servers_with_it() == 0; });
    }
    // All servers give this answer to the command.
    [[nodiscard]] bool all_say(const std::vector<std::string>& words, const std::string& answer) const {
        return eventually(patience, [&] {
            return std::all_of(servers.begin(), servers.end(),
                               [&](auto& s) { return s.command(words).text == answer; });
        });
    }
    // All servers have the lock for longer than a lease, so a client renews it. (Renewals are not counted: a
    // Redisson that has locked a few times before renews more often than necessary.)
    [[nodiscard]] bool is_kept_beyond(milliseconds lease) const {
        const stopwatch since;
        return eventually(patience, [&] { return since.took() > lease * 5 / 4; }) &&
               servers_with_it() == several;
    }

    const std::string name = own_name();
    const std::span<redis_server, several> servers = several_servers();
};

}  // namespace holdfast::test
