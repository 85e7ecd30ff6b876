// A thread that calls a function at intervals, as a watchdog does.
#pragma once

#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace holdfast::lab {

// First calls one gap after construction; ends when destroyed, or when `what` returns false or throws.
class periodic_thread {
  public:
    periodic_thread(std::chrono::milliseconds gap, std::function<bool()> what)
        : thread_([gap, what = std::move(what)](const std::stop_token& stop) {
              std::mutex guard;
              std::condition_variable_any asleep;
              std::unique_lock hold{guard};
              while (!asleep.wait_for(hold, stop, gap, [&] { return stop.stop_requested(); })) {
                  try {
                      if (!what()) return;
                  } catch (const std::exception&) {
                      return;
                  }
              }
          }) {}

  private:
    std::jthread thread_;
};

}  // namespace holdfast::lab
