// What a client that watches one configuration in Nacos asks next, and what it has learned. Without I/O.
#pragma once

#include "nacos/address.hpp"
#include "nacos/endpoints.hpp"
#include "nacos/messages.hpp"

#include <holdfast/types.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace holdfast::nacos {

using time_point = boot_clock::time_point;

//   logs_in   a token came --> reads
//   reads     the text and its md5 came --> polls (v1) or pauses (v3); there is no text --> probes
//   probes    whether a server without a text has long polls --> polls, or reads by v3
//   polls     a change, for address::options::long_poll --> reads, also after an error; else polls
//   pauses    the pause is over --> reads or polls
//
// - Silence proves nothing: a server that is being stopped leaves polls without an answer. So an error of a
//   poll is no news: the next read decides whether the configuration can be read.
// - An error of a read: the next server is asked at once. After the last one there is a pause of 0.5 s, which
//   doubles up to 30 s.
// - A read right after a change may see the old text: it is repeated.
// - A poll with the md5 of a text that was deleted is answered at once, for ever: then it has an empty md5.
class config_watch {
  public:
    struct text {
        std::string is;
    };
    struct no_text {};
    struct unreachable {
        std::string why;
    };
    // The configuration is read every five seconds, as this server has no long poll.
    struct no_long_poll {};
    using news = std::variant<text, no_text, unreachable, no_long_poll>;

    struct pause {
        time_point until;
    };
    struct step {
        std::vector<news> learned{};
        std::variant<request, pause> next;
    };

    // `jitter` returns numbers in [0, 1).
    config_watch(address of, std::function<double()> jitter)
        : of_(std::move(of)), jitter_(std::move(jitter)) {}

    [[nodiscard]] step begin(time_point now);
    // The reply to the last request.
    [[nodiscard]] step on_reply(reply got, time_point now);
    [[nodiscard]] step on_pause_over(time_point now);

  private:
    enum class state { logs_in, reads, probes, polls, pauses };

    [[nodiscard]] step on_login(const answer& got);
    [[nodiscard]] step on_read(answer got);
    [[nodiscard]] step on_probe(const answer& got);
    [[nodiscard]] step on_poll(const answer& got);
    [[nodiscard]] step on_text(present got);
    [[nodiscard]] step on_no_text();
    [[nodiscard]] step on_gone();
    [[nodiscard]] step on_denied(int status);
    [[nodiscard]] step failed(const std::string& why);
    [[nodiscard]] step poll_failed();
    [[nodiscard]] step works(news learned);

    [[nodiscard]] step send(state next, request r);
    [[nodiscard]] step log_in();
    [[nodiscard]] step read();
    [[nodiscard]] step poll();
    [[nodiscard]] step pause_for(boot_clock::duration time, state then);
    [[nodiscard]] boot_clock::duration back_off(unsigned failures) const;
    void use_next_server();

    const address of_;
    const std::function<double()> jitter_;

    state state_ = state::pauses;
    state after_pause_ = state::reads;
    time_point now_{};      // of the present event
    time_point sent_at_{};  // when the last request was sent
    std::size_t server_ = 0;
    std::size_t servers_failed_ = 0;  // in a row
    unsigned rounds_failed_ = 0;      // in a row: all servers
    unsigned polls_failed_ = 0;       // in a row

    interface_version interface_ = interface_version::v1;
    bool is_proven_ = false;  // an answer showed that the server has this interface
    bool has_told_no_long_poll_ = false;

    std::string md5_;       // of the text that was read last; empty: there is none
    bool is_due_ = false;   // a poll said that there is another text
    unsigned repeats_ = 0;  // of the read after that

    std::string token_;
    time_point token_ages_at_ = time_point::max();
    bool has_just_logged_in_ = false;  // and nothing was read since
    interface_version login_ = interface_version::v1;
    bool has_tried_other_login_ = false;
};

}  // namespace holdfast::nacos
