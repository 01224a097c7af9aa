"""Operations that write into their first operand; entries give them a copy."""

from recipe import integers, normal, uniform


def add(group):
    def case(op, inputs, *arguments, **options):
        group.case(op, lambda x, *rest, **given: getattr(x.clone(), op)(*rest, *arguments, **given), inputs, grad=False,
                   **options)

    for other in [(3, 4), (4,), (3, 1), ()]:
        for alpha in [1.0, -1.0, 0.3]:
            case("add_", [normal(3, 4), normal(*other)], alpha=alpha)
            case("sub_", [normal(3, 4), normal(*other)], alpha=alpha)
        case("mul_", [normal(3, 4), normal(*other)])
        case("div_", [normal(3, 4), uniform(*other, low=0.5, high=2.0)])
        case("copy_", [normal(3, 4), normal(*other)])
    case("add_", [integers(3, 4, high=100), integers(4, high=100)], alpha=3)
    case("sub_", [integers(3, 4, high=100), integers(4, high=100)], alpha=3)
    case("mul_", [integers(3, 4, high=100), integers(3, 1, high=100)])
    case("mul_", [normal(3, 4), integers(4, high=5)])
    case("copy_", [normal(3, 4), integers(4, high=5)])
    for shape in [(3, 4), (), (0, 2)]:
        group.case("clamp_", lambda x, low, high: x.clone().clamp_(low, high), [normal(*shape)], grad=False, low=-0.5,
                   high=0.75)
        group.case("fill_", lambda x, value: x.clone().fill_(value), [normal(*shape)], grad=False, value=2.5)
        case("zero_", [normal(*shape)])
