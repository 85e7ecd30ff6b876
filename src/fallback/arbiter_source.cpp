#include "fallback/arbiter_source.hpp"

#include "base/parker.hpp"
#include "fallback/document_filter.hpp"

#include <optional>
#include <utility>
#include <variant>

namespace holdfast::fallback {

using std::chrono::milliseconds;

// What answers use, also after the source has gone.
class arbiter_source::reader : public std::enable_shared_from_this<reader> {
  public:
    reader(io::reactor& on, arbiter_document& from, milliseconds answer_timeout, milliseconds every,
           handler tell)
        : reactor_(on), from_(from), answer_timeout_(answer_timeout), every_(every), tell_(std::move(tell)) {}

    void start(milliseconds first_answer) {
        reactor_.post([self = shared_from_this()] { self->ask(); });
        told_once_.park_until(boot_clock::now() + first_answer);
    }
    void stop() {
        reactor_.run_and_wait([this] {
            closed_ = true;
            reactor_.cancel(timer_);
        });
    }

  private:
    // All of these are on the reactor's thread.
    void ask() {
        if (closed_) return;
        from_.read(
            boot_clock::now() + answer_timeout_,
            [self = shared_from_this()](const arbiter_document::answer& got) { self->on_answer(got); });
    }
    void on_answer(const arbiter_document::answer& got) {
        if (closed_) return;
        timer_ = reactor_.at(boot_clock::now() + every_, [self = shared_from_this()] { self->ask(); });
        std::optional<told> news;
        if (const auto* const no = std::get_if<backend::failure>(&got))
            news = filter_.on_unreadable(no->in_one());
        else if (const auto& now = std::get<backend::register_value>(got); now.version == 0)
            news = filter_.on_unreadable("nobody has published a document there");
        else
            news = filter_.on_text(now.text);
        if (news) tell_(*news);
        told_once_.unpark();
    }

    io::reactor& reactor_;
    arbiter_document& from_;  // used until stop()
    const milliseconds answer_timeout_;
    const milliseconds every_;
    const handler tell_;
    base::parker told_once_;  // the thread that starts waits there

    bool closed_ = false;
    io::timer_id timer_;
    document_filter filter_;
};

arbiter_source::arbiter_source(io::reactor& on, std::unique_ptr<arbiter_document> from,
                               milliseconds first_answer, milliseconds answer_timeout, milliseconds every,
                               handler tell)
    : from_(std::move(from)),
      reader_(std::make_shared<reader>(on, *from_, answer_timeout, every, std::move(tell))) {
    reader_->start(first_answer);
}

arbiter_source::~arbiter_source() {
    reader_->stop();
    from_.reset();
}

}  // namespace holdfast::fallback
