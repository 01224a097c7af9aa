#include "samples/parameter_server/served.h"

namespace samples {

troupe::FunctionRegistry server_functions() {
  return {{"DigitNet", digit_net}, {"DigitNet::classify", &DigitNet::classify}};
}

}  // namespace samples
