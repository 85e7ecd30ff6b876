// A Nacos with one user, real or imitated: the same tests run on both.
#pragma once

#include <string>

namespace holdfast::test {

class nacos_centre {
  public:
    // Which interfaces it has: versions 2.2 to 3.1, and 3.2.
    enum class version { with_long_polls, without_long_polls };

    nacos_centre() = default;
    nacos_centre(const nacos_centre&) = delete;
    nacos_centre& operator=(const nacos_centre&) = delete;
    virtual ~nacos_centre() = default;

    // nacos://USER:PASSWORD@127.0.0.1:PORT/public/tests/ID?long_poll=10s
    [[nodiscard]] virtual std::string url(const std::string& id, const std::string& password) const = 0;
    [[nodiscard]] std::string url(const std::string& id) const { return url(id, right_password); }

    virtual void publish(const std::string& id, const std::string& text) = 0;
    virtual void erase(const std::string& id) = 0;

    // SIGKILL, as a crash. Configurations stay.
    virtual void stop() = 0;
    // Returns when it serves. It accepts no token that it gave before.
    virtual void start() = 0;
    // SIGSTOP: it accepts connections, and answers nothing.
    virtual void pause() = 0;
    virtual void resume() = 0;

    static constexpr auto* right_password = "right1";
};

}  // namespace holdfast::test
