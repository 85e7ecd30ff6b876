#include "backends/sql/registers.hpp"

#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace holdfast::sql_backend {

namespace {

using namespace backend;

// No record of a lock begins with a letter.
constexpr std::string_view mark = "register 1\n";

class access : public std::enable_shared_from_this<access> {
  public:
    using answer = result<register_value>;

    access(const change_tools& with, std::string_view name, time_point deadline,
           std::function<void(answer)> done)
        : with_(with),
          row_(std::string{register_prefix}.append(name)),
          deadline_(deadline),
          done_(std::move(done)) {}

    void read() {
        step([this] {
            with_.on.run({&with_.speaks.registers.read, {parameter::bytes(row_)}}, deadline_,
                         [self = shared_from_this()](const outcome& found) {
                             self->step([&] { self->on_read(found); });
                         });
        });
    }
    void change(std::uint64_t expected, std::string_view text) {
        wanted_ = wish{expected, {0, std::string{text}}};
        step([this] { write(); });
    }

  private:
    struct wish {
        std::uint64_t expected;
        register_value next;
    };

    // Without memory for a step nothing was sent.
    template <class Step>
    void step(const Step& what) {
        try {
            what();
        } catch (const std::bad_alloc&) {
            finish(failure{make_error_code(errc::out_of_memory), {}, {}});
        }
    }
    void finish(answer a) {
        if (!std::exchange(finished_, true)) done_(std::move(a));
    }

    void write() {
        auto& next = wanted_->next;
        const auto version = with_.known.next_version.next();
        next.version = static_cast<std::uint64_t>(version);
        auto record = parameter::bytes(std::string{mark}.append(next.text));
        auto then = [self = shared_from_this()](const outcome& saved) {
            self->step([&] { self->on_written(saved); });
        };
        if (wanted_->expected == 0)
            return with_.on.run({&with_.speaks.registers.insert,
                                 {parameter::bytes(row_), std::move(record), parameter::of(version)}},
                                deadline_, std::move(then));
        with_.on.run({&with_.speaks.registers.save,
                      {parameter::bytes(row_), parameter::of(static_cast<std::int64_t>(wanted_->expected)),
                       std::move(record), parameter::text("true"), parameter::of(version)}},
                     deadline_, std::move(then));
    }
    void on_written(const outcome& saved) {
        if (const auto* const no = std::get_if<fault>(&saved)) {
            if (no->what == fault::effect::conflict) return read();
            auto why = no->why;
            if (no->what == fault::effect::unknown) why.code = make_error_code(errc::unknown_outcome);
            return finish(std::move(why));
        }
        if (std::get<rows>(saved).empty()) return read();
        finish(std::move(wanted_->next));
    }

    void on_read(const outcome& found) {
        if (const auto* const no = std::get_if<fault>(&found)) {
            if (no->what == fault::effect::conflict) return again();
            return finish(no->why);
        }
        register_value now;
        for (const auto& r : std::get<rows>(found)) {
            if (r.size() < 2 || !r[0])
                return finish(failure{make_error_code(errc::busy_server),
                                      "the server takes no writes: it is a replica, or read-only"});
            if (!r[0]->starts_with(mark))
                return finish(
                    failure{make_error_code(errc::wrong_kind), "the row " + row_ + " is no register"});
            now = {static_cast<std::uint64_t>(number(r[1])), r[0]->substr(mark.size())};
        }
        // The change met another transaction, which has changed nothing in the end.
        if (wanted_ && now.version == wanted_->expected) return again();
        finish(std::move(now));
    }

    // A statement after the deadline is not sent, so this ends.
    void again() {
        constexpr milliseconds pause{2};
        with_.reactor.at(boot_clock::now() + pause, [self = shared_from_this()] {
            if (self->wanted_)
                self->step([&] { self->write(); });
            else
                self->read();
        });
    }

    const change_tools& with_;
    const std::string row_;
    const time_point deadline_;
    const std::function<void(answer)> done_;
    std::optional<wish> wanted_;  // empty: it only reads
    bool finished_ = false;
};

}  // namespace

void read_register(const change_tools& with, std::string_view name, time_point deadline,
                   std::function<void(result<register_value>)> done) {
    std::make_shared<access>(with, name, deadline, std::move(done))->read();
}

void change_register(const change_tools& with, std::string_view name, std::uint64_t expected,
                     std::string_view text, time_point deadline,
                     std::function<void(result<register_value>)> done) {
    std::make_shared<access>(with, name, deadline, std::move(done))->change(expected, text);
}

}  // namespace holdfast::sql_backend
