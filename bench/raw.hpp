// The minimal client of the floors: a blocking socket, commands formatted by hand, replies found by their
// length.
#pragma once

#include "backends/redis/scripts/scripts.hpp"
#include "redis/protocol/command.hpp"
#include "support/unique_fd.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::bench {

class raw_connection {
  public:
    explicit raw_connection(std::uint16_t port);

    void send(std::string_view bytes);
    // Blocks until a whole reply has arrived. It is valid until the next call.
    std::string_view read();
    // Like read(), but returns an empty text if no reply comes in time.
    std::string_view read_for(int timeout_ms);
    // Sends what `to_send` holds, and reads one reply.
    std::string_view ask();

    std::string to_send;

    void load(const redis_scripts::script&);
    // to_send += EVALSHA ...
    template <class... Words>
    void add_script(const redis_scripts::script& s, int keys, const Words&... words) {
        redis::append_command(to_send, std::string_view{"EVALSHA"}, std::string_view{s.sha1}, keys,
                              std::string_view{words}...);
    }
    template <class... Words>
    void add(const Words&... words) {
        redis::append_command(to_send, std::string_view{words}...);
    }

  private:
    test::unique_fd fd_;
    std::string inbox_;
    std::size_t used_ = 0;  // bytes of inbox_ in the last reply returned
};

}  // namespace holdfast::bench
