// A class with virtual functions in a pool: the next process would call into nowhere.
#include <outlast/tx/baselines/cx_puc.hpp>

struct plain_shape {
  double area() const { return 0; }
};
struct virtual_shape {
  virtual double area() const { return 0; }
};

#ifdef OUTLAST_GOOD
using shape = plain_shape;
#else
using shape = virtual_shape;
#endif

double ask(outlast::tx::cx_puc<shape>& all) {
  return all.read([](const shape& in) { return in.area(); });
}
