// An extension that does nothing: what activation costs whoever is activated.

exports.activate = () => {};
