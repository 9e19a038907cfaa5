/* An optimizer's numbers on their way from the entry points (optim.c) to the bodies (bodies/optim.inc). */
#ifndef CAFE_OPTIM_H
#define CAFE_OPTIM_H

struct cafe_sgd {
    double lr, momentum, undamped /* 1 - dampening */, weight_decay;
    int nesterov, first;
};

struct cafe_adam {
    double shrink /* 1 - lr weight_decay, or 1 */, weight_decay /* of Adam's L2 form, or 0 */;
    double rest1 /* 1 - beta1 */, beta2, rest2 /* 1 - beta2 */;
    double root /* sqrt(1 - beta2^t) */, eps, step /* lr / (1 - beta1^t) */;
};

#endif
