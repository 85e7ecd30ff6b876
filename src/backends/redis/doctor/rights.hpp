// Finds the needed rights (ACL) that the user of a connection lacks.
//
// The server itself answers, by a script with redis.acl_check_cmd, which runs no command. This file makes the
// questions and reads the answers; it sends nothing.
#pragma once

#include "backends/redis/doctor/required_acls.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::redis_backend::doctor {

// A call of the command on an absent key, to ask about. Empty for a command that is not known here.
[[nodiscard]] std::vector<std::string> example_of(std::string_view command, const std::string& absent_key,
                                                  const std::string& channel);

// One right that the user lacks.
struct missing_right {
    enum class what : std::uint8_t { command, key, channel, unknown_command, selector } kind;
    std::string name;  // "zpopmin", "holdfast:q1:{job}"
    std::string rule;  // of ACL SETUSER: "+zpopmin", "~holdfast:q1:{job}"
    struct need {
        std::optional<backend::kind> of;  // these three as in `required_acls`
        std::string shown;
        std::string without;
        importance how;

        // Whether a lock of this kind needs the right.
        [[nodiscard]] bool concerns(backend::kind k) const { return !of || *of == k; }
    };
    std::vector<need> needed_by;
};

// One question and its answer.
class rights_question {
  public:
    // Without a name, the question covers only commands, the wake channel and the client's own keys: the keys
    // and channels of locks differ from lock to lock.
    explicit rights_question(const std::optional<lock_name>& name, const std::vector<required_acls>& own = {},
                             const std::optional<backend::membership>& part = {});

    // EVAL, the script, its arguments.
    [[nodiscard]] const std::vector<std::string>& words() const noexcept { return words_; }

    struct answer {
        std::vector<missing_right> missing;
        bool cannot_tell = false;  // the server cannot answer: it is older than Redis 7
        bool keys_differ = false;  // the user may not use all keys, and no name was given
    };
    [[nodiscard]] answer read(const std::vector<std::string>& verdicts) const;

    // All rules that the kind and the client itself need, in one text: a selector must have them all.
    [[nodiscard]] std::string all_rules(backend::kind) const;

  private:
    struct probe {
        enum class what : std::uint8_t { command, key, all_keys, publish, subscribe, any_key } kind;
        std::string name;
        std::string rule;
        std::vector<missing_right::need> needed_by;
    };
    class reader;

    void add(probe, const std::vector<std::string>& call);
    void add_commands();
    void add_keys();
    void add_channels();

    bool named_;
    std::vector<required_acls> required_;
    std::vector<probe> probes_;
    std::vector<std::string> words_;
};

}  // namespace holdfast::redis_backend::doctor
