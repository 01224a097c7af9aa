// Operations that sort, compare, count and repeat elements.
#include "tensor/create.h"
#include "tensor/ops.h"
#include "tests/bench/tensor/row.h"

namespace troupe::bench {

std::vector<Row> order_rows() {
  constexpr std::int64_t k1M = 1'000'000;
  return {{"unique/1M", "none",
           [k1M] {
             Generator generator(1);
             return [x = randint(0, 10'000, {k1M}, generator)] { (void)unique(x); };
           }},
          {"median/1M", "none",
           [k1M] {
             Generator generator(2);
             return [x = randn({k1M}, generator)] { (void)median(x); };
           }},
          {"cdist/512x512x64", "none",
           [] {
             Generator generator(3);
             return [a = randn({512, 64}, generator), b = randn({512, 64}, generator)] { (void)cdist(a, b); };
           }},
          {"bincount/1M", "none",
           [k1M] {
             Generator generator(4);
             return [x = randint(0, 10'000, {k1M}, generator)] { (void)bincount(x); };
           }},
          {"histc/1M", "none",
           [k1M] {
             Generator generator(5);
             return [x = randn({k1M}, generator)] { (void)histc(x, 100, -3.0, 3.0); };
           }},
          {"repeat_interleave/10000x64", "none",
           [] {
             Generator generator(6);
             return [x = randn({10'000, 64}, generator), counts = remainder(arange(10'000), 8)] {
               (void)repeat_interleave(x, counts, 0);
             };
           }},
          {"cummax/1024x1024", "none", [] {
             Generator generator(7);
             return [x = randn({1024, 1024}, generator)] { (void)cummax(x, 1); };
           }}};
}

}  // namespace troupe::bench
