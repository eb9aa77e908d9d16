// Style sheets are bundled with the page; importing one has no value.

declare module "*.css";
