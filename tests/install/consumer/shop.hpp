// A stock that several threads sell from.
#pragma once

#include <holdfast/mutex.hpp>

class shop {
  public:
    shop(holdfast::client& locks, int items) : lock_{locks, "stock"}, left_{items} {}

    // False when everything is sold.
    bool sell();

  private:
    holdfast::mutex lock_;
    int left_;
};
