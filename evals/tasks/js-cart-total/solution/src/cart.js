import { formatPrice, parsePrice } from "./price.js";

export class Cart {
  #items = [];

  /** @param {string} price per piece, such as "4.50" */
  add(name, price, count = 1) {
    this.#items.push({ name, price: parsePrice(price), count });
  }

  /** The sum in cents, less a discount in percent. */
  total(discount = 0) {
    const sum = this.#items.reduce((all, item) => all + item.price * item.count, 0);
    return Math.round((sum * (100 - discount)) / 100);
  }

  lines() {
    return this.#items.map((item) => `${item.count} × ${item.name}: ${formatPrice(item.price * item.count)}`);
  }
}
