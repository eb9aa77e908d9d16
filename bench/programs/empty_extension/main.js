// An extension that does nothing, to measure the cost of activation itself.

exports.activate = () => {};
