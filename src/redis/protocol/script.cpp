#include "redis/protocol/script.hpp"

#include "redis/protocol/command.hpp"

namespace holdfast::redis {

std::string as_eval(std::string_view evalsha, std::string_view script_text) {
    // "*N\r\n" "$7\r\nEVALSHA\r\n" "$40\r\n<sha>\r\n" rest: the counts of the rest stay as they are.
    const auto line_end = [&](std::size_t from) { return evalsha.find('\n', from) + 1; };
    const std::size_t head = line_end(0);
    std::size_t rest = head;
    for (int lines = 0; lines < 4; ++lines) rest = line_end(rest);

    std::string eval;
    eval.reserve(evalsha.size() + script_text.size() + 16);
    eval.append(evalsha.substr(0, head));
    wire::append_argument(eval, std::string_view{"EVAL"});
    wire::append_argument(eval, script_text);
    eval.append(evalsha.substr(rest));
    return eval;
}

}  // namespace holdfast::redis
