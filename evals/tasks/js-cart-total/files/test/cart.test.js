import assert from "node:assert/strict";
import { test } from "node:test";
import { Cart } from "../src/cart.js";
import { formatPrice, parsePrice } from "../src/price.js";
import { receipt } from "../src/receipt.js";

function cartOf(...items) {
  const cart = new Cart();
  for (const item of items) cart.add(...item);
  return cart;
}

test("prices are cents", () => {
  assert.equal(parsePrice("4.50"), 450);
  assert.equal(parsePrice("0.07"), 7);
  assert.equal(parsePrice("1.15"), 115);
  assert.equal(parsePrice("12"), 1200);
  assert.equal(formatPrice(450), "4.50 €");
  assert.equal(formatPrice(7), "0.07 €");
});

test("what is no price is refused", () => {
  for (const text of ["", "x", "1.234", "-1"]) assert.throws(() => parsePrice(text), RangeError, text);
});

test("totals are exact", () => {
  assert.equal(cartOf(["a", "0.10"], ["b", "0.20"]).total(), 30);
  assert.equal(cartOf(["a", "1.15", 3]).total(), 345);
});

test("discounts are rounded to cents, half a cent up", () => {
  assert.equal(cartOf(["a", "0.99"]).total(10), 89);
  assert.equal(cartOf(["a", "0.05"]).total(50), 3);
  assert.equal(cartOf().total(10), 0);
});

test("a receipt adds up", () => {
  const cart = cartOf(["tea", "4.35", 2], ["milk", "1.19"]);
  assert.equal(
    receipt(cart, 15),
    "2 × tea: 8.70 €\n1 × milk: 1.19 €\nDiscount: 1.48 €\nTotal: 8.41 €",
  );
  assert.equal(receipt(cart), "2 × tea: 8.70 €\n1 × milk: 1.19 €\nTotal: 9.89 €");
});
