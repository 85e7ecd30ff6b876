// What every store on an SQL database does alike, whichever its table is: it sends statements, and ends only
// when each of its requests has an answer.
#pragma once

#include "backends/sql/database.hpp"
#include "backends/sql/open_requests.hpp"
#include "io/reactor.hpp"
#include "store/inspection.hpp"
#include "store/store.hpp"

#include <holdfast/examination.hpp>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sql_backend {

// Reports what endangers locks; calls the handler once.
using examiner = std::function<void(database&, time_point deadline, handler<backend::result<examination>>)>;

class database_store : public backend::store, public backend::inspection {
  public:
    backend::traffic statistics() const noexcept override { return statements_->statistics(); }
    void run_io(base::parker& me, time_point until) override { statements_->run_io(me, until); }
    bool has_pending() const noexcept override { return open_.any(); }
    void abandon() noexcept override { statements_->abandon(); }
    backend::inspection* as_inspection() noexcept override { return this; }

    // A waiter whose client is gone holds up nobody: it is passed over, or there is no queue.
    void clear_line(const lock_name&, const std::vector<std::string>&, time_point,
                    handler<backend::result<std::vector<std::string>>> done) override {
        done(std::vector<std::string>{});
    }
    void examine(const backend::examine_request&, time_point deadline,
                 handler<backend::result<examination>> done) override {
        examine_(*statements_, deadline, counted(std::move(done)));
    }

  protected:
    database_store(io::reactor& on, std::unique_ptr<database> statements, examiner examine)
        : reactor_(on), statements_(std::move(statements)), examine_(std::move(examine)) {}

    // The destructor of the last class calls it, while its members are there: no handler runs after it.
    void end_requests() {
        statements_->close();
        // Each request that is left makes one more statement at most, which is not carried out.
        while (open_.any()) reactor_.run_and_wait([] {});
        reactor_.run_and_wait([] {});
    }

    // `then` takes a const outcome&. The request that waits for it has no answer yet.
    template <class Then>
    void run(const prepared& what, std::vector<parameter> with, time_point deadline, Then then) {
        statements_->run(
            {&what, std::move(with)}, deadline,
            [open = open_.count(), then = std::move(then)](const outcome& result) { then(result); });
    }

    template <class Handler>
    [[nodiscard]] static std::shared_ptr<Handler> share(Handler h) {
        return std::make_shared<Handler>(std::move(h));
    }
    // A copyable handler of a request that has no answer before it is called.
    template <class Answer>
    [[nodiscard]] std::function<void(Answer)> counted(handler<Answer> done) {
        return [open = open_.count(), done = share(std::move(done))](Answer answer) {
            (*done)(std::move(answer));
        };
    }
    [[nodiscard]] std::shared_ptr<const open_requests::counted> count_request() { return open_.count(); }

    [[nodiscard]] database& statements() const noexcept { return *statements_; }
    [[nodiscard]] io::reactor& reactor() const noexcept { return reactor_; }

  private:
    io::reactor& reactor_;
    open_requests open_;
    const std::unique_ptr<database> statements_;
    const examiner examine_;
};

}  // namespace holdfast::sql_backend
